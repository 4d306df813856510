//lint:file-ignore SA1019 the hub serves what the newest protocol version deprecates, so it is tested

package e2e

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	prefix       = "mcp_everything_"
	staticURI    = "demo://resource/static/document/features.md"
	textURI      = "demo://resource/dynamic/text/"
	blobURI      = "demo://resource/dynamic/blob/"
	sampledText  = "a sampled answer, naïve"
	elicitedName = "Zoë 名"
)

// All that server-everything has, used at /mcp by a client of either era: one hub, whose one session with the server
// both clients share, one after the other.
func TestSurface(t *testing.T) {
	url := lab.StartEverything(t, "streamableHttp") + "/mcp"
	entry := HTTP(url)
	entry["startupTimeoutMs"] = Patience.Milliseconds() // a first list without a slow server is another test's subject
	hub := lab.StartHub(t, Servers{"everything": entry})
	var asked atomic.Int64
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			s := openSurface(t, hub.URL+"/mcp", version, &asked)
			t.Run("tools", s.listTools)
			t.Run("results", s.callForResults)
			t.Run("contents", s.callForContents)
			t.Run("unknown", s.callUnknown)
			t.Run("progress", s.progressBeforeResult)
			t.Run("sampling", s.answerSampling)
			t.Run("elicitation", s.answerElicitation)
			t.Run("roots", s.answerRoots)
			t.Run("resources", s.useResources)
			t.Run("subscription", s.subscribe)
			t.Run("prompts", s.usePrompts)
			t.Run("completion", s.complete)
			t.Run("logging", s.log)
		})
	}
}

// surface is one client with a handler for all a server may ask or tell it. The channels take more than a run sends, so
// that a question or notification too many is seen and never blocks the client.
type surface struct {
	*mcp.ClientSession
	version  string
	asked    *atomic.Int64 // how often a client of either era was asked for its roots
	sampling chan *mcp.CreateMessageParams
	elicits  chan *mcp.ElicitParams
	progress chan *mcp.ProgressNotificationParams
	updated  chan string
	logs     chan *mcp.LoggingMessageParams
}

func openSurface(t *testing.T, endpoint, version string, asked *atomic.Int64) *surface {
	t.Helper()
	s := &surface{
		version:  version,
		asked:    asked,
		sampling: make(chan *mcp.CreateMessageParams, 100),
		elicits:  make(chan *mcp.ElicitParams, 100),
		progress: make(chan *mcp.ProgressNotificationParams, 100),
		updated:  make(chan string, 100),
		logs:     make(chan *mcp.LoggingMessageParams, 100),
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e-surface", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{ListChanged: true},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			s.sampling <- r.Params
			return &mcp.CreateMessageResult{Model: "e2e", Role: "assistant", Content: &mcp.TextContent{Text: sampledText}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			s.elicits <- r.Params
			if r.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": elicitedName, "integer": 7}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { s.progress <- r.Params },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { s.updated <- r.Params.URI },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { s.logs <- r.Params },
	})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "roots/list" {
				asked.Add(1)
			}
			return next(ctx, method, r)
		}
	})
	client.AddRoots(&mcp.Root{URI: "file:///surface", Name: "surface"})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting with %s: %v", version, err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the hub chose %s, want %s", got, version)
	}
	s.ClientSession = session
	return s
}

func (s *surface) sessionEra() bool { return s.version < "2026" }

// call calls a tool of server-everything, whose answer has to be a result without isError.
func (s *surface) call(t *testing.T, tool string, arguments any) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: prefix + tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("calling %s: %v", tool, err)
	}
	if result.IsError {
		t.Fatalf("%s answered an error: %s", tool, encode(t, result))
	}
	return result
}

func (s *surface) listTools(t *testing.T) {
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// The two …-async tools are for clients that run tasks, which the hub's own session does not say it does.
	want := []string{"mcp_list_resources", "mcp_read_resource"}
	for _, tool := range []string{
		"echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-roots-list",
		"get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource", "simulate-research-query",
		"toggle-simulated-logging", "toggle-subscriber-updates", "trigger-elicitation-request",
		"trigger-long-running-operation", "trigger-sampling-request", "trigger-url-elicitation",
	} {
		want = append(want, prefix+tool)
	}
	var got []string
	for _, tool := range list.Tools {
		got = append(got, tool.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("tools/list has\n%q, want\n%q", got, want)
	}
}

func (s *surface) callForResults(t *testing.T) {
	for _, c := range []struct {
		tool      string
		arguments any
		want      string
	}{
		{"echo", map[string]any{"message": "Grüße, 世界 🌍\u2028"}, "Echo: Grüße, 世界 🌍\u2028"},
		{"get-sum", map[string]any{"a": 2.5, "b": -40}, "The sum of 2.5 and -40 is -37.5."},
		{"get-structured-content", map[string]any{"location": "Chicago"}, `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`},
	} {
		if got := firstText(s.call(t, c.tool, c.arguments)); got != c.want {
			t.Errorf("%s answered %q, want %q", c.tool, got, c.want)
		}
	}
	got := encode(t, s.call(t, "get-structured-content", map[string]any{"location": "Chicago"}).StructuredContent)
	if want := `{"conditions":"Light rain / drizzle","humidity":82,"temperature":36}`; got != want {
		t.Errorf("structuredContent is %s, want %s", got, want)
	}
}

func (s *surface) callForContents(t *testing.T) {
	image, ok := s.call(t, "get-tiny-image", nil).Content[1].(*mcp.ImageContent)
	if !ok || image.MIMEType != "image/png" || !strings.HasPrefix(string(image.Data), "\x89PNG") {
		t.Errorf("get-tiny-image answered %s, want a PNG", encode(t, image))
	}
	links := s.call(t, "get-resource-links", map[string]any{"count": 3}).Content
	for i, want := range []string{blobURI + "1", textURI + "2", blobURI + "3"} {
		if link, ok := links[i+1].(*mcp.ResourceLink); !ok || link.URI != want {
			t.Errorf("link %d is %s, want %s", i, encode(t, links[i+1]), want)
		}
	}
	reference := s.call(t, "get-resource-reference", map[string]any{"resourceType": "Blob", "resourceId": 5}).Content[1]
	embedded, ok := reference.(*mcp.EmbeddedResource)
	if !ok || embedded.Resource.URI != blobURI+"5" || !strings.HasPrefix(string(embedded.Resource.Blob), "Resource 5:") {
		t.Errorf("get-resource-reference answered %s, want blob 5", encode(t, reference))
	}
	message := s.call(t, "get-annotated-message", map[string]any{"messageType": "error", "includeImage": true})
	got := encode(t, message.Content[0].(*mcp.TextContent).Annotations)
	if want := `{"audience":["user","assistant"],"priority":1}`; got != want {
		t.Errorf("the message's annotations are %s, want %s", got, want)
	}
	got = encode(t, message.Content[1].(*mcp.ImageContent).Annotations)
	if want := `{"audience":["user"],"priority":0.5}`; got != want {
		t.Errorf("the image's annotations are %s, want %s", got, want)
	}
}

func (s *surface) callUnknown(t *testing.T) {
	for _, tool := range []string{prefix + "nothing", "mcp_nobody_echo", "echo"} {
		if result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}); err == nil {
			t.Errorf("%s, which there is not, answered %s", tool, encode(t, result))
		}
	}
}

func (s *surface) progressBeforeResult(t *testing.T) {
	params := &mcp.CallToolParams{Name: prefix + "trigger-long-running-operation", Arguments: map[string]any{"duration": 1, "steps": 2}}
	params.SetProgressToken("surface")
	answer := make(chan error, 1)
	go func() {
		_, err := s.CallTool(t.Context(), params)
		answer <- err
	}()
	// The server's last step and its result come together and the SDK hands them over in either order, so the result is
	// awaited after the first of two steps, which are half a second apart.
	select {
	case got := <-s.progress:
		if want := `{"progressToken":"surface","progress":1,"total":2}`; encode(t, got) != want {
			t.Errorf("the first progress is %s, want %s", encode(t, got), want)
		}
	case err := <-answer:
		t.Fatalf("the result (error %v) came before any progress", err)
	case <-time.After(Patience):
		t.Fatal("no progress came")
	}
	if got := receive(t, s.progress, "the second progress"); got.Progress != 2 {
		t.Errorf("the second progress is %s, want 2", encode(t, got))
	}
	if err := receive(t, answer, "the result"); err != nil {
		t.Errorf("the long operation: %v", err)
	}
}

func (s *surface) answerSampling(t *testing.T) {
	result := s.call(t, "trigger-sampling-request", map[string]any{"prompt": "say ü", "maxTokens": 5})
	if text := firstText(result); !strings.Contains(text, sampledText) {
		t.Errorf("the tool answered %q, want the handler's %q in it", text, sampledText)
	}
	asked := receive(t, s.sampling, "sampling/createMessage")
	if got := encode(t, asked.Messages); asked.MaxTokens != 5 || !strings.Contains(got, "context: say ü") {
		t.Errorf("the handler was asked %s", encode(t, asked))
	}
	none(t, s.sampling, "a second sampling/createMessage")
}

// trigger-url-elicitation's errorPath is not taken: after it the SDK waits for notifications/elicitation/complete, which
// server-everything never sends.
func (s *surface) answerElicitation(t *testing.T) {
	form := encode(t, s.call(t, "trigger-elicitation-request", nil))
	if !strings.Contains(form, "- Name: "+elicitedName) || !strings.Contains(form, "- Favorite Integer: 7") {
		t.Errorf("the tool answered %s, want what the handler filled in", form)
	}
	asked := receive(t, s.elicits, "elicitation/create")
	if got := encode(t, asked.RequestedSchema); !strings.Contains(got, "legacyTitledEnum") {
		t.Errorf("the handler was asked %s, want the server's schema", encode(t, asked))
	}
	const link = "https://example.com/pay?a=1&b=ü"
	answer := firstText(s.call(t, "trigger-url-elicitation", map[string]any{"url": link, "elicitationId": "surface-1"}))
	if !strings.Contains(answer, "User completed") || !strings.Contains(answer, link) {
		t.Errorf("the tool answered %q, want that the user completed it", answer)
	}
	asked = receive(t, s.elicits, "elicitation/create with a URL")
	if asked.Mode != "url" || asked.URL != link || asked.ElicitationID != "surface-1" {
		t.Errorf("the handler was asked %s", encode(t, asked))
	}
	none(t, s.elicits, "a third elicitation/create")
}

// The server asks for the roots once, a third of a second after the hub connected, in no call's name, and keeps the answer
// for its whole session, which all clients share. A call of the first era's client is usually running then, and the hub
// takes the question to it; when none is, the hub answers that there are no roots.
func (s *surface) answerRoots(t *testing.T) {
	want := "1. surface\n   URI: file:///surface"
	none := "no roots are currently configured"
	if s.asked.Load() > 0 {
		none = want
	} else if s.sessionEra() {
		want = none
	}
	// Run alone, the client of 2026-07-28 may be the one that is asked, in an answer of a call, which the count leaves out.
	if got := firstText(s.call(t, "get-roots-list", nil)); !strings.Contains(got, want) && !strings.Contains(got, none) {
		t.Errorf("after %d questions for the roots the tool answered %q, want %q", s.asked.Load(), got, want)
	}
}

func (s *surface) useResources(t *testing.T) {
	resources, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(resources.Resources) != 7 || !slices.ContainsFunc(resources.Resources, func(r *mcp.Resource) bool { return r.URI == staticURI }) {
		t.Errorf("resources/list has %s, want the seven documents", encode(t, resources.Resources))
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, template := range templates.ResourceTemplates {
		uris = append(uris, template.URITemplate)
	}
	slices.Sort(uris)
	if want := []string{blobURI + "{resourceId}", textURI + "{resourceId}"}; !slices.Equal(uris, want) {
		t.Errorf("resources/templates/list has %q, want %q", uris, want)
	}
	for uri, want := range map[string]string{
		staticURI:     "# Everything Server - Features",
		textURI + "7": "Resource 7: This is a plaintext resource",
		blobURI + "8": "Resource 8: This is a base64 blob",
	} {
		result, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("reading %s: %v", uri, err)
			continue
		}
		content := result.Contents[0]
		if got := content.Text + string(content.Blob); content.URI != uri || !strings.HasPrefix(got, want) {
			t.Errorf("%s is %.200q at %s, want %q", uri, got, content.URI, want)
		}
	}
	for _, uri := range []string{"demo://resource/nothing", textURI + "zero"} {
		if result, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s, which there is not, is %s", uri, encode(t, result))
		}
	}
}

// The tool switches the updates of the hub's session with the server, which all clients share: each switches them off
// again for the next.
func (s *surface) subscribe(t *testing.T) {
	uri := textURI + "1"
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	s.toggle(t, "toggle-subscriber-updates", "Started")
	if got := receive(t, s.updated, "notifications/resources/updated"); got != uri {
		t.Errorf("%s was updated, want %s", got, uri)
	}
	s.toggle(t, "toggle-subscriber-updates", "Stopped")
	if err := s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

func (s *surface) toggle(t *testing.T, tool, want string) {
	t.Helper()
	if got := firstText(s.call(t, tool, nil)); !strings.HasPrefix(got, want) {
		t.Errorf("%s answered %q, want %s", tool, got, want)
	}
}

func (s *surface) usePrompts(t *testing.T) {
	list, err := s.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, prompt := range list.Prompts {
		got = append(got, prompt.Name)
	}
	slices.Sort(got)
	if want := []string{prefix + "args-prompt", prefix + "completable-prompt", prefix + "resource-prompt", prefix + "simple-prompt", "mcp_inline"}; !slices.Equal(got, want) {
		t.Errorf("prompts/list has %q, want %q", got, want)
	}
	for _, c := range []struct {
		prompt    string
		arguments map[string]string
		want      string
	}{
		{"simple-prompt", nil, "This is a simple prompt without arguments."},
		{"args-prompt", map[string]string{"city": "Zürich"}, "What's weather in Zürich?"},
		{"args-prompt", map[string]string{"city": "Zürich", "state": "ZH"}, "What's weather in Zürich, ZH?"},
		{"resource-prompt", map[string]string{"resourceType": "Text", "resourceId": "4"}, textURI + "4"},
	} {
		result, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prefix + c.prompt, Arguments: c.arguments})
		if err != nil {
			t.Errorf("getting %s: %v", c.prompt, err)
			continue
		}
		if got := encode(t, result.Messages); !strings.Contains(got, c.want) {
			t.Errorf("%s with %v is %s, want %q", c.prompt, c.arguments, got, c.want)
		}
	}
	for _, prompt := range []string{prefix + "nothing", prefix + "args-prompt"} { // unknown; without its required argument
		if result, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: prompt}); err == nil {
			t.Errorf("%s without arguments is %s, want an error", prompt, encode(t, result))
		}
	}
}

func (s *surface) complete(t *testing.T) {
	prompt := &mcp.CompleteReference{Type: "ref/prompt", Name: prefix + "completable-prompt"}
	template := &mcp.CompleteReference{Type: "ref/resource", URI: textURI + "{resourceId}"}
	for _, c := range []struct {
		params *mcp.CompleteParams
		want   []string
	}{
		{&mcp.CompleteParams{Ref: prompt, Argument: mcp.CompleteParamsArgument{Name: "department", Value: "S"}}, []string{"Sales", "Support"}},
		{&mcp.CompleteParams{
			Ref: prompt, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "E"},
			Context: &mcp.CompleteContext{Arguments: map[string]string{"department": "Sales"}},
		}, []string{"Eve"}},
		{&mcp.CompleteParams{Ref: template, Argument: mcp.CompleteParamsArgument{Name: "resourceId", Value: "12"}}, []string{"12"}},
		{&mcp.CompleteParams{Ref: template, Argument: mcp.CompleteParamsArgument{Name: "resourceId", Value: "x"}}, nil},
	} {
		result, err := s.Complete(t.Context(), c.params)
		if err != nil {
			t.Errorf("completing %s: %v", encode(t, c.params), err)
			continue
		}
		if got := result.Completion.Values; !slices.Equal(got, c.want) {
			t.Errorf("completing %s gave %q, want %q", encode(t, c.params), got, c.want)
		}
	}
}

// Since 2026-07-28 a client asks for log messages of one request in its _meta, and what server-everything logs belongs to
// none: there the method is an unknown one.
func (s *surface) log(t *testing.T) {
	err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"})
	if !s.sessionEra() {
		if err == nil {
			t.Error("logging/setLevel has an answer, want an error")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	s.toggle(t, "toggle-simulated-logging", "Started")
	for {
		// Messages about subscriptions and roots may be on their way; the simulated ones are of random levels.
		if text, _ := receive(t, s.logs, "a simulated log message").Data.(string); strings.Contains(text, "essage - SessionId") {
			break
		}
	}
	s.toggle(t, "toggle-simulated-logging", "Stopped")
}

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(Patience):
		t.Fatalf("%s did not come within %v", what, Patience)
		panic("unreachable")
	}
}

// none reports what has come already though nothing should have.
func none[T any](t *testing.T, from <-chan T, what string) {
	t.Helper()
	select {
	case got := <-from:
		t.Errorf("%s came: %s", what, encode(t, got))
	default:
	}
}
