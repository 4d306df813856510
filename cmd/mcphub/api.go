package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcphub/admin"
)

// askTimeout bounds what a verb asks of a running hub, a call's own time aside.
const askTimeout = 30 * time.Second

// errNoHub means that no hub was found running.
var errNoHub = errors.New("no running hub found")

// hubURL finds the running hub by the file it left in its data directory.
func (g *globals) hubURL() (string, error) {
	info, err := g.running()
	if err != nil {
		return "", fmt.Errorf("%w (%w): start one with mcphub serve, or name its --data-dir", errNoHub, err)
	}
	return "http://" + info.Addr, nil
}

// running reads that file.
func (g *globals) running() (info runInfo, err error) {
	text, err := os.ReadFile(filepath.Join(g.dataDir, "run.json"))
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	return info, err
}

// send asks the running hub's API. Its problems are errors; the caller closes the body of an answer.
func (g *globals) send(ctx context.Context, method, path string) (*http.Response, error) {
	base, err := g.hubURL()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: asking the hub at %s: %w; has it ended?", errNoHub, base, err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// refusal is the error that an answer tells of: a problem document, or what somebody in between has written.
func refusal(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var p admin.Problem
	if json.Unmarshal(text, &p) != nil || p.Detail == "" {
		return fmt.Errorf("the hub answered HTTP %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	if p.Kind() == "configuration" {
		return usageError{&p}
	}
	return &p
}

// ask is send for an answer in JSON, which v takes.
func (g *globals) ask(ctx context.Context, method, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return g.askLong(ctx, method, path, v)
}

// askLong is ask for as long as ctx lets it.
func (g *globals) askLong(ctx context.Context, method, path string, v any) error {
	resp, err := g.send(ctx, method, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		return fmt.Errorf("reading the hub's answer: %w", err)
	}
	return nil
}
