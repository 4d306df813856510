package upstream

import "time"

const (
	breakerMost   = 5                // failures within breakerWithin that open it
	breakerWithin = 30 * time.Second // older ones are forgotten
	breakerCool   = time.Minute      // from its opening, or a failed probe, to the next probe
)

// breaker keeps a server that fails again and again from being tried by every call. It is pure: whoever asks says what
// time it is. The zero value is closed.
type breaker struct {
	cool     time.Duration // 0: breakerCool
	failures []time.Time   // the last ones, oldest first; at most breakerMost
	probeAt  time.Time     // when it lets one try through; zero: it is closed
	probing  bool          // that try is under way
}

// open says whether tries are refused, but for a probe.
func (b *breaker) open() bool { return !b.probeAt.IsZero() }

// admit says whether a server may be tried now. While it is open that is one probe, whose end has to be told by failed,
// succeeded or released.
func (b *breaker) admit(now time.Time) bool {
	if !b.open() {
		return true
	}
	if b.probing || now.Before(b.probeAt) {
		return false
	}
	b.probing = true
	return true
}

// failed counts a failure. Only that of a probe puts the next one off: failures that were under way when it opened
// would otherwise keep it open for good.
func (b *breaker) failed(now time.Time) {
	cool := b.cool
	if cool == 0 {
		cool = breakerCool
	}
	if b.open() {
		if b.probing {
			b.probing, b.probeAt = false, now.Add(cool)
		}
		return
	}
	b.failures = append(b.failures, now)
	for len(b.failures) > breakerMost || now.Sub(b.failures[0]) > breakerWithin {
		b.failures = b.failures[1:]
	}
	if len(b.failures) == breakerMost {
		b.probeAt, b.failures = now.Add(cool), nil
	}
}

// connected closes it. What has failed before still counts: a connection that is lost at once is no recovery.
func (b *breaker) connected() { b.probing, b.probeAt = false, time.Time{} }

// succeeded closes it and forgets what has failed: the server has done what it is for.
func (b *breaker) succeeded() { *b = breaker{cool: b.cool} }

// released gives back a probe that ended in neither success nor failure, for the next one who asks.
func (b *breaker) released() { b.probing = false }
