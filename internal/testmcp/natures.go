package testmcp

import (
	"net/http"
	"slices"
	"time"
)

// natures are properties of good servers.
var natures = []Misbehaviour{
	{Name: "well", Over: "any", Doc: "Behaves: 2024-11-05 to 2025-11-25 by initialize, sessions and SSE answers over HTTP.", build: with(hooks{})},
	{Name: "modern", Over: "any", Doc: "Behaves, and serves 2026-07-28 too.", build: setup(func(e *engine) { e.modern = true })},
	{Name: "modern-only", Over: "any", Doc: "Behaves, in 2026-07-28 only.", build: setup(func(e *engine) { e.modern, e.legacy = true, false })},
	{Name: "speaks", Over: "any", Arg: "the newest version it knows", Doc: "Behaves, with no newer version than the argument.", build: buildSpeaks},
	{Name: "stateless", Over: "http", Doc: "Behaves, without session ids.", build: setup(func(e *engine) { e.stateless = true })},
	{Name: "json-answers", Over: "http", Doc: "Behaves, answering POSTs with application/json.", build: setup(func(e *engine) { e.jsonAnswer = true })},
	{Name: "only-tools", Over: "any", Doc: "Behaves, with tools and nothing else.", build: setup(func(e *engine) { e.onlyTools = true })},
	{Name: "script", Over: "any", Arg: "a file written by Script", Doc: "Serves a Script: raw tools, results and errors.", build: buildScript},
	{Name: "replies", Over: "any", Arg: "a file written by Replies", Doc: "Gives raw results to chosen requests.", build: buildReplies},
	{Name: "bearer", Over: "http", Arg: "a token", Doc: "Answers 401 with a challenge unless the token is sent.", build: buildBearer},
	{Name: "session-expires", Over: "http", Arg: "milliseconds, 2000", Doc: "Forgets a session that was not used for that long.", build: buildExpiry},
	{Name: "404-once-after-restart", Over: "http", At: methodToolsCall + "#1", Doc: "Forgets its sessions just before the first call, so that call gets 404.", build: with(hooks{door: forgetFirst})},
	{Name: "400-session-gone", Over: "http", Doc: "Forgets its sessions just before the first call and says 400 \"No valid session ID provided\" to unknown ones.", build: buildGone400},
}

func buildSpeaks(newest string) hooks {
	return hooks{setup: func(e *engine) {
		e.versions = legacyVersions[:slices.Index(legacyVersions, newest)+1]
	}}
}

func buildBearer(token string) hooks {
	return hooks{door: func(v *visit) bool {
		if v.r.Header.Get("Authorization") == "Bearer "+token {
			return false
		}
		v.w.Header().Set("WWW-Authenticate", `Bearer realm="testmcp"`)
		v.fail(http.StatusUnauthorized, "text/plain", "Unauthorized\n")
		return true
	}}
}

func buildExpiry(arg string) hooks {
	limit := millis([]byte(arg), int(2*time.Second/time.Millisecond))
	return hooks{door: func(v *visit) bool {
		v.srv.eng.forget(func(s *session) bool { return s.unusedFor() < limit })
		return false
	}}
}

// sessionGone is what the TypeScript SDK answers to a session it does not know.
const sessionGone = "Bad Request: No valid session ID provided"

func forgetFirst(v *visit) bool {
	v.srv.ForgetSessions()
	return false
}

func buildGone400(string) hooks {
	forgot := make(chan struct{}, 1)
	return hooks{door: func(v *visit) bool {
		if v.msg.Method == methodToolsCall {
			select {
			case forgot <- struct{}{}:
				v.srv.ForgetSessions()
			default:
			}
		}
		id := v.r.Header.Get(headerSession)
		if id == "" || v.srv.eng.session(id) != nil {
			return false
		}
		v.fail(http.StatusBadRequest, typeJSON, string(errorTo(nil, codeServer, sessionGone, "")))
		return true
	}}
}
