package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// runProxy is the least a gateway over HTTP can be: net/http/httputil's reverse
// proxy. It reads a request's body whole before it forwards it, because streamed
// bodies make the transport cut answers that begin before the body's end is read.
func runProxy(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("revproxy", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address to serve on")
	to := flags.String("to", "", "URL of the upstream; its path is kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	target, err := url.Parse(*to)
	if err != nil || target.Host == "" {
		return fmt.Errorf("-to takes the URL of the upstream, got %q", *to)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 256
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
		},
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	return serveHTTP(ctx, *listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	}))
}
