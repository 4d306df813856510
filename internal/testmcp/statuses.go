package testmcp

import (
	"fmt"
	"net/http"
	"strings"
)

const page = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>\n"

// statusFaults are HTTP answers that carry no MCP.
var statusFaults = []Misbehaviour{
	{Name: "html-200", Over: "http", At: anyMethod, Doc: "Answers 200 with an HTML page.", build: says(http.StatusOK, "text/html; charset=utf-8", page)},
	{Name: "400", Over: "http", At: methodToolsCall, Doc: "Answers 400 with plain text.", build: says(http.StatusBadRequest, "text/plain", "Bad Request\n")},
	{Name: "401", Over: "http", At: anyMethod, Doc: "Answers 401 with a WWW-Authenticate challenge that names resource metadata.", build: with(hooks{door: unauthorized})},
	{Name: "403", Over: "http", At: anyMethod, Doc: "Answers 403.", build: says(http.StatusForbidden, "text/plain", "Forbidden\n")},
	{Name: "404-always", Over: "http", At: anyMethod, Doc: "Answers 404.", build: says(http.StatusNotFound, "text/plain", "404 page not found\n")},
	{Name: "405", Over: "http", At: anyMethod, Doc: "Answers 405.", build: says(http.StatusMethodNotAllowed, "text/plain", "Method Not Allowed\n")},
	{Name: "get-405", Over: "http", At: methodHTTPGet, Doc: "Has no GET stream.", build: says(http.StatusMethodNotAllowed, "text/plain", "Method Not Allowed\n")},
	{Name: "413", Over: "http", At: methodToolsCall, Doc: "Answers 413.", build: says(http.StatusRequestEntityTooLarge, "text/plain", "Request Entity Too Large\n")},
	{Name: "429", Over: "http", At: methodToolsCall, Doc: "Answers 429 with Retry-After: 1.", build: later(http.StatusTooManyRequests)},
	{Name: "500", Over: "http", At: methodToolsCall, Doc: "Answers 500 with plain text.", build: says(http.StatusInternalServerError, "text/plain", "Internal Server Error\n")},
	{Name: "500-rpc", Over: "http", At: methodToolsCall, Doc: "Answers 500 with a JSON-RPC error as its body.", build: with(hooks{door: rpc500})},
	{Name: "502-html", Over: "http", At: methodToolsCall, Doc: "Answers 502 with an HTML page.", build: says(http.StatusBadGateway, "text/html", "<html><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>\n")},
	{Name: "503-retry-after", Over: "http", At: methodToolsCall, Doc: "Answers 503 with Retry-After: 1.", build: later(http.StatusServiceUnavailable)},
	{Name: "202-for-call", Over: "http", At: methodToolsCall, Doc: "Answers 202 and nothing more.", build: says(http.StatusAccepted, "text/plain", "")},
	{Name: "empty-200", Over: "http", At: methodToolsCall, Doc: "Answers 200 with no body and no type.", build: says(http.StatusOK, "", "")},
	{Name: "echo-auth-header", Over: "http", At: methodToolsCall, Doc: "Answers 401 with the Authorization header it got in the body.", build: with(hooks{door: echoAuth})},
	{Name: "redirect", Over: "http", At: anyMethod, Doc: "Redirects by 307 to another path of its own, which serves.", build: redirect(http.StatusTemporaryRedirect)},
	{Name: "redirect-302", Over: "http", At: anyMethod, Doc: "Redirects by 302 to another path of its own, which serves.", build: redirect(http.StatusFound)},
	{Name: "redirect-away", Over: "http", At: anyMethod, Doc: "Redirects by 307 to another origin, which logs what comes.", build: with(hooks{door: redirectAway})},
	{Name: "huge-headers", Over: "http", At: methodToolsCall, Doc: "Answers with 2 MiB of headers.", build: with(hooks{door: hugeHeaders})},
	{Name: "hang-at-connect", Over: "http", Doc: "Accepts connections and never reads or writes.", build: with(hooks{accept: true})},
	{Name: "hang-at-get", Over: "http", At: methodHTTPGet, Doc: "Never sends the headers of its GET stream.", build: with(hooks{door: hang})},
	{Name: "hang", Over: "http", At: methodToolsCall, Doc: "Never sends the headers of its answer.", build: with(hooks{door: hang})},
}

func says(status int, contentType, body string) func(string) hooks {
	return with(hooks{door: func(v *visit) bool {
		v.fail(status, contentType, body)
		return true
	}})
}

func unauthorized(v *visit) bool {
	v.w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="invalid_token", resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="read"`, v.srv.origin))
	v.fail(http.StatusUnauthorized, typeJSON, `{"error":"invalid_token","error_description":"Missing or invalid access token"}`)
	return true
}

func echoAuth(v *visit) bool {
	v.fail(http.StatusUnauthorized, "text/plain", "not accepted: Authorization: "+v.r.Header.Get("Authorization")+"\n")
	return true
}

func later(status int) func(string) hooks {
	return with(hooks{door: func(v *visit) bool {
		v.w.Header().Set("Retry-After", "1")
		v.fail(status, "text/plain", http.StatusText(status)+"\n")
		return true
	}})
}

func rpc500(v *visit) bool {
	v.fail(http.StatusInternalServerError, typeJSON, string(errorTo(v.msg.ID, -32603, "Internal error", `{"detail":"disk full"}`)))
	return true
}

// moved is where redirects of the same origin lead.
const moved = "/moved"

func redirect(status int) func(string) hooks {
	return with(hooks{door: func(v *visit) bool {
		if v.r.URL.Path == moved {
			return false
		}
		v.w.Header().Set("Location", moved)
		v.w.WriteHeader(status)
		return true
	}})
}

func redirectAway(v *visit) bool {
	v.w.Header().Set("Location", v.srv.elsewhere()+"/mcp")
	v.w.WriteHeader(http.StatusTemporaryRedirect)
	return true
}

func hugeHeaders(v *visit) bool {
	for i := range 64 {
		v.w.Header().Set(fmt.Sprintf("X-Filler-%d", i), strings.Repeat("x", 32<<10))
	}
	v.fail(http.StatusOK, typeJSON, string(resultTo(v.msg.ID, textResult("after large headers"))))
	return true
}

// hang keeps a request without an answer until its client leaves.
func hang(v *visit) bool {
	select {
	case <-v.r.Context().Done():
	case <-v.srv.eng.ctx.Done():
	}
	return true
}
