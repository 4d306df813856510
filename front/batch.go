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

// answerBatch runs the messages of a batch and returns the answers in the order of the requests.
func (f *Front) answerBatch(ctx context.Context, s *session, msgs [][]byte) [][]byte {
	answers := make([][]byte, len(msgs))
	slots := make(chan struct{}, batchAtOnce)
	var running sync.WaitGroup
	for i, raw := range msgs {
		m, err := wire.Scan(raw)
		switch {
		case err != nil:
			answers[i] = wire.AppendError(nil, nil, scanError(err).Raw())
		case m.Method == wire.Initialize:
			e := &wire.Error{Code: wire.CodeInvalidRequest, Message: "initialize must not be part of a batch"}
			answers[i] = wire.AppendError(nil, m.ID, e.Raw())
		case !m.IsRequest():
			f.accept(ctx, s, m)
		default:
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				ctx, pending := s.begin(ctx, m.ID)
				defer s.finish(pending)
				answers[i] = envelope(m.ID, f.serve(ctx, &hub.Request{Client: s.client, Msg: m}))
			})
		}
	}
	running.Wait()
	out := answers[:0]
	for _, a := range answers {
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
