package front

import (
	"bytes"
	"context"
	"sync"

	"mcphub/hub"
	"mcphub/wire"
)

// batchAtOnce bounds how many requests of one batch run side by side.
const batchAtOnce = 8

// batch is a batch whose notifications and responses have been taken and whose requests have begun.
type batch struct {
	answers [][]byte // in the order of the messages; nil where there is none
	calls   []func() // run the requests
	changes bool     // some of them change what the session's record holds
}

// readBatch takes what needs no answer at once, so that it never waits for a request of the same batch.
// run must follow.
func (f *Front) readBatch(ctx context.Context, s *session, msgs [][]byte) *batch {
	b := &batch{answers: make([][]byte, len(msgs))}
	busy := s.busy()
	for i, raw := range msgs {
		m, err := wire.Scan(raw)
		switch {
		case err != nil:
			b.answers[i] = wire.AppendError(nil, nil, scanError(err).Raw())
		case m.Method == wire.Initialize:
			e := &wire.Error{Code: wire.CodeInvalidRequest, Message: "initialize must not be part of a batch"}
			b.answers[i] = wire.AppendError(nil, m.ID, e.Raw())
		case !m.IsRequest():
			f.accept(ctx, s, m)
		case busy:
			b.answers[i] = wire.AppendError(nil, m.ID, errBusy)
		default:
			b.changes = b.changes || changesSession(m.Method)
			ctx, pending := s.begin(ctx, m.ID)
			b.calls = append(b.calls, func() {
				defer s.finish(pending)
				answer := f.serve(ctx, &hub.Request{Client: s.client, Msg: m})
				if ctx.Err() == nil { // otherwise nobody waits for it any more
					b.answers[i] = envelope(m.ID, answer)
				}
			})
		}
	}
	return b
}

// run runs the requests and returns the answers in their order.
func (b *batch) run() [][]byte {
	slots := make(chan struct{}, batchAtOnce)
	var running sync.WaitGroup
	for _, call := range b.calls {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			call()
		})
	}
	running.Wait()
	out := b.answers[:0]
	for _, a := range b.answers {
		if a != nil {
			out = append(out, a)
		}
	}
	return out
}

func joinArray(items [][]byte) []byte {
	out := append([]byte{'['}, bytes.Join(items, []byte{','})...)
	return append(out, ']')
}
