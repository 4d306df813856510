package front

import (
	"context"
	"sync"
	"time"

	"mcphub/hub"
	"mcphub/wire"
)

// duplexAtOnce bounds the requests of one client that run side by side on a shared channel.
const duplexAtOnce = 128

// duplex is a client whose messages all go over one channel in each direction: stdio, or HTTP+SSE.
type duplex struct {
	f     *Front
	s     *session
	slots chan struct{}
	tasks sync.WaitGroup
}

func (f *Front) newDuplex(server string) *duplex {
	return &duplex{f: f, s: newSession(server), slots: make(chan struct{}, duplexAtOnce)}
}

// take handles one line or POST body. Requests run in the background; their answers go to the outbox.
func (d *duplex) take(ctx context.Context, body []byte) {
	if msgs, ok := wire.Batch(body); ok {
		if answers := d.f.answerBatch(ctx, d.s, msgs); len(answers) > 0 {
			d.s.out.put(joinArray(answers))
		}
		return
	}
	m, err := wire.Scan(body)
	switch {
	case err != nil:
		d.s.out.put(wire.AppendError(nil, nil, scanError(err).Raw()))
	case !m.IsRequest():
		d.f.accept(ctx, d.s, m)
	case m.Method == wire.Initialize: // what follows may depend on it
		d.answer(ctx, m)
	default:
		d.slots <- struct{}{}
		d.tasks.Go(func() {
			defer func() { <-d.slots }()
			d.answer(ctx, m)
		})
	}
}

// Send sends a message ahead of an answer.
func (d *duplex) Send(msg []byte) { d.s.out.put(msg) }

// Prime does nothing: the channel is the session's only one.
func (d *duplex) Prime(time.Duration) {}

func (d *duplex) answer(ctx context.Context, m wire.Message) {
	ctx, pending := d.s.begin(ctx, m.ID)
	defer d.s.finish(pending)
	client := d.s.client
	if isModern(m) {
		version := wire.String(wire.Path(m.Params, "_meta", wire.MetaVersion))
		e := checkMeta(wire.Get(m.Params, "_meta"))
		if !wire.Known(version) {
			e = unsupported(version)
		}
		if e != nil {
			d.s.out.put(wire.AppendError(nil, m.ID, e.Raw()))
			return
		}
		client = &hub.Client{Server: d.s.server, Version: version}
	}
	answer := d.f.serve(ctx, &hub.Request{Client: client, Msg: m, Out: d})
	if ctx.Err() != nil {
		return // nobody waits for it any more
	}
	if m.Method == wire.Initialize && answer.Error == nil && client == d.s.client {
		client.Version = wire.String(wire.Get(answer.Result, "protocolVersion"))
		d.f.hub.Join(client)
	}
	d.s.out.put(envelope(m.ID, answer))
}
