# The slim image: the static binary and nothing else, run as nobody. It reaches servers over HTTP; servers that are
# programs need their own runtime, and so an image built on this one.
ARG GO_IMAGE=docker.io/library/golang:1.26

FROM ${GO_IMAGE} AS build
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /image/usr/bin/mcphub ./cmd/mcphub
# The configuration comes by a mount, /data is written to, and the certificates let the hub reach servers over TLS.
RUN mkdir -p /image/etc/ssl/certs /image/etc/mcphub /image/data /image/tmp \
	&& cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
	&& echo '{"mcpServers": {}}' > /image/etc/mcphub/config.json \
	&& chmod 1777 /image/tmp \
	&& chown -R 65532:65532 /image/data

FROM scratch
COPY --from=build /image /
USER 65532:65532
ENV HOME=/data
EXPOSE 8080
ENTRYPOINT ["/usr/bin/mcphub"]
# A container's own loopback reaches nobody, so the hub listens on all its addresses and whoever publishes the port says
# to whom: -p 127.0.0.1:8080:8080 for this machine alone.
CMD ["serve", "--config", "/etc/mcphub/config.json", "--data-dir", "/data", "--listen", "0.0.0.0:8080", "--insecure"]
