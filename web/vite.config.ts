import { defineConfig } from "vite";

// The page loads its files from a fixed folder of the server; its own address is `/`.
export default defineConfig({
  base: "/v1/explorer/",
  build: {
    outDir: "dist",
    assetsDir: "",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: { polyfill: false },
    // Fonts and images stay files: a page with a strict policy loads nothing inline.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8080", "/token": "http://127.0.0.1:8080" } },
});
