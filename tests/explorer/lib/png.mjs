// Makes a picture of a page small: at most 256 colours, which is enough for text and a few tints.
import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 256;

/** The chunks of a picture. */
function* chunks(png) {
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += 12 + length;
  }
}

/** The pixels of a picture of 8 bits a channel, three bytes each. */
function pixels(png) {
  const all = [...chunks(png)];
  const head = all[0].data;
  const [width, height, type] = [head.readUInt32BE(0), head.readUInt32BE(4), head[9]];
  const depth = type === 6 ? 4 : 3;
  const lines = inflateSync(Buffer.concat(all.filter((chunk) => chunk.type === "IDAT").map((chunk) => chunk.data)));
  const stride = width * depth;
  const flat = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= depth ? flat[y * stride + x - depth] : 0;
      const up = y > 0 ? flat[(y - 1) * stride + x] : 0;
      const corner = x >= depth && y > 0 ? flat[(y - 1) * stride + x - depth] : 0;
      const guess = left + up - corner;
      const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
      const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      flat[y * stride + x] = lines[y * (stride + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth][filter];
    }
  }
  const rgb = Buffer.alloc(width * height * 3);
  for (let at = 0; at < width * height; at++) flat.copy(rgb, at * 3, at * depth, at * depth + 3);
  return { width, height, rgb };
}

/** The same picture with the colours that it has most often; others become the nearest of these. */
export function small(png) {
  const { width, height, rgb } = pixels(png);
  const counts = new Map();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = (rgb[at] << 16) | (rgb[at + 1] << 8) | rgb[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts.entries()].sort((a, b) => b[1] - a[1]).slice(0, COLOURS).map(([colour]) => colour);
  const index = new Map(palette.map((colour, at) => [colour, at]));
  const nearest = (colour) => {
    let best = 0;
    let distance = Infinity;
    for (const [at, other] of palette.entries()) {
      const [r, g, b] = [16, 8, 0].map((shift) => ((colour >> shift) & 255) - ((other >> shift) & 255));
      const far = r * r + g * g + b * b;
      if (far < distance) [best, distance] = [at, far];
    }
    index.set(colour, best);
    return best;
  };
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 3;
      const colour = (rgb[at] << 16) | (rgb[at + 1] << 8) | rgb[at + 2];
      lines[y * (width + 1) + 1 + x] = index.get(colour) ?? nearest(colour);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let crc = 0xffffffff;
  for (const byte of body) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4);
  return out;
}
