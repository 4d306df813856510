package testmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// session is one client's state. Requests without a session share one.
type session struct {
	id   string
	push func(raw []byte) // nil when nothing can be sent outside of a request

	inbox *inbox // over HTTP, where push leads to

	mu         sync.Mutex
	version    string
	client     json.RawMessage // params of initialize
	counter    int
	level      string
	subscribed map[string]bool
	inflight   map[string]context.CancelFunc
	pending    map[string]chan message
	used       time.Time
}

func newSession(id string, push func(raw []byte)) *session {
	return &session{
		id: id, push: push, used: time.Now(),
		subscribed: map[string]bool{}, inflight: map[string]context.CancelFunc{}, pending: map[string]chan message{},
	}
}

func (s *session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

func (s *session) unusedFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.used)
}

// modern says that this session's client never sent initialize.
func (s *session) modern() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version == ""
}

func (s *session) begin(version string, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.client = version, params
}

// capability is the raw value of one of the client's capabilities.
func (s *session) capability(name string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return member(member(s.client, "capabilities"), name)
}

// run makes ctx end when the request is cancelled; done must be called.
func (s *session) run(ctx context.Context, id string) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.inflight[id] = cancel
	s.mu.Unlock()
	return ctx, func() {
		cancel()
		s.mu.Lock()
		delete(s.inflight, id)
		s.mu.Unlock()
	}
}

func (s *session) cancel(id string) {
	s.mu.Lock()
	cancel := s.inflight[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (s *session) deliver(m message) {
	s.mu.Lock()
	answer := s.pending[string(m.ID)]
	delete(s.pending, string(m.ID))
	s.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

// ask sends a request to the client in the middle of the client's own request
// and returns the raw result. An error answer comes back as its raw error.
func (x *exchange) ask(method, params string) ([]byte, error) {
	x.eng.mu.Lock()
	x.eng.nextID++
	id := strconv.Itoa(x.eng.nextID)
	x.eng.mu.Unlock()
	answer := make(chan message, 1)
	x.ses.mu.Lock()
	x.ses.pending[id] = answer
	x.ses.mu.Unlock()
	x.out(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	select {
	case m := <-answer:
		if len(m.Error) > 0 {
			return nil, errors.New(string(m.Error))
		}
		return m.Result, nil
	case <-x.ctx.Done():
		return nil, x.ctx.Err()
	}
}

// filter is what a listen stream asked for.
type filter struct {
	Tools     bool     `json:"toolsListChanged"`
	Prompts   bool     `json:"promptsListChanged"`
	Resources bool     `json:"resourcesListChanged"`
	URIs      []string `json:"resourceSubscriptions"`
}

// subscription is one open subscriptions/listen.
type subscription struct {
	id     json.RawMessage
	filter filter
	send   func(raw []byte)
}

// meta is the _meta member that ties a message to its subscription.
func (s *subscription) meta() string {
	return fmt.Sprintf(`"_meta":{%q:%s}`, metaSubscription, s.id)
}
