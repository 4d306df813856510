package front

import (
	"context"
	"sync"
	"time"

	"mcphub/hub"
	"mcphub/wire"
)

// duplexAtOnce bounds the requests of one client that run side by side on a shared channel. A batch counts as one.
const duplexAtOnce = 128

// duplex is a client whose messages all go over one channel in each direction: stdio, or HTTP+SSE.
type duplex struct {
	f     *Front
	s     *session
	slots chan struct{}
	tasks sync.WaitGroup
}

func (f *Front) newDuplex(at hub.Door) *duplex {
	s := newSession(at)
	s.client.Reachable = nil // its channel is open for as long as it is there
	return &duplex{f: f, s: s, slots: make(chan struct{}, duplexAtOnce)}
}

// take handles one line or POST body. Requests run in the background; their answers go to the outbox. It waits for
// none of them: what is read next may be the answer that they wait for.
func (d *duplex) take(ctx context.Context, body []byte) {
	if msgs, ok := wire.Batch(body); ok {
		b := d.f.readBatch(ctx, d.s, msgs)
		d.inTurn(func() {
			if answers := b.run(); len(answers) > 0 {
				d.s.out.put(joinArray(answers))
			}
		})
		return
	}
	m, err := wire.Scan(body)
	switch {
	case err != nil:
		d.s.out.put(wire.AppendError(nil, nil, scanError(err).Raw()))
	case !m.IsRequest():
		d.f.accept(ctx, d.s, m)
	case d.s.busy():
		d.s.out.put(wire.AppendError(nil, m.ID, errBusy))
	default:
		ctx, pending := d.s.begin(ctx, m.ID)
		answer := func() {
			defer d.s.finish(pending)
			d.answer(ctx, m)
		}
		switch m.Method {
		case wire.Initialize: // what follows may depend on it
			answer()
		case wire.Ping: // asks whether the hub is there, not whether it has time
			d.tasks.Go(answer)
		default:
			d.inTurn(answer)
		}
	}
}

// inTurn runs f in the background when it is its turn.
func (d *duplex) inTurn(f func()) {
	d.tasks.Go(func() {
		d.slots <- struct{}{}
		defer func() { <-d.slots }()
		f()
	})
}

// Send sends a message ahead of an answer.
func (d *duplex) Send(msg []byte) { d.s.out.put(msg) }

// Prime does nothing: the channel is the session's only one.
func (d *duplex) Prime(time.Duration) {}

func (d *duplex) answer(ctx context.Context, m wire.Message) {
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
		client = &hub.Client{Door: d.s.at, Version: version}
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
