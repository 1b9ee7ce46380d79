# The server in a container: its data are in a volume, and it does not run as root.
#
#     docker build -t anywhen .
#     docker run -d --name anywhen -p 5433:5433 -p 8080:8080 -v anywhen-data:/data anywhen
#
# docs/guide/operations.md says how roles get passwords and programs get tokens.
FROM rust:1-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential git nodejs npm
WORKDIR /src
COPY . .
RUN scripts/web.sh && \
    cargo build --profile dist --locked --package anywhen-command --bin anywhen && \
    strip -o /anywhen target/dist/anywhen

FROM debian:trixie-slim
RUN useradd --system --uid 10001 --user-group --home-dir /data --shell /usr/sbin/nologin anywhen && \
    install -d -o anywhen -g anywhen -m 700 /data
COPY --from=build /anywhen /usr/local/bin/anywhen
USER anywhen
VOLUME /data
WORKDIR /data
# Clients of other machines are let in with a password or a token alone: by default no role has one.
ENV ANYWHEN_DATA=/data/anywhen \
    ANYWHEN_PG_LISTEN=0.0.0.0:5433 \
    ANYWHEN_HTTP_LISTEN=0.0.0.0:8080 \
    ANYWHEN_HTTP_AUTH=true
EXPOSE 5433 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["anywhen"]
CMD ["serve"]
