package upstream

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// at is a time of the test, in seconds.
func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// opened is a breaker that five failures have opened at second 4.
func opened(t *testing.T) *breaker {
	t.Helper()
	b := &breaker{}
	for i := range breakerMost {
		if !b.admit(at(float64(i))) {
			t.Fatalf("closed after %d failures", i)
		}
		b.failed(at(float64(i)))
	}
	if !b.open() || b.admit(at(5)) {
		t.Fatal("five failures in 30 s do not open it")
	}
	return b
}

// Failures open it only where they come close together.
func TestBreakerWindow(t *testing.T) {
	b := &breaker{}
	for i := range 50 {
		b.failed(at(float64(i) * 8))
	}
	if b.open() {
		t.Error("a failure every 8 s opens it: no five of them are within 30 s")
	}
	b.failed(at(393)) // 368, 376, 384, 392 are within 30 s of it
	if !b.open() {
		t.Error("the fifth failure within 30 s does not open it")
	}
}

// B063: a probe after the cool-down closes it without anybody's help, and only a probe's own failure puts the next off.
func TestBreakerProbe(t *testing.T) {
	b := opened(t)
	for second := 5; second < 64; second++ {
		b.failed(at(float64(second))) // of tries that were under way
	}
	if b.admit(at(63.9)) || !b.admit(at(64)) || b.admit(at(64)) {
		t.Fatal("one probe is let through a minute after it opened")
	}
	b.failed(at(70))
	if b.admit(at(129)) || !b.admit(at(130)) {
		t.Fatal("the next probe is let through a minute after the first one failed")
	}
	b.connected()
	if b.open() || !b.admit(at(131)) || !b.admit(at(131)) {
		t.Error("a probe that succeeds does not close it")
	}
}

// A probe that ends in neither success nor failure frees its place.
func TestBreakerReleased(t *testing.T) {
	b := opened(t)
	if !b.admit(at(64)) {
		t.Fatal("no probe")
	}
	b.released()
	if !b.admit(at(64)) {
		t.Error("the place of a probe that came to nothing is not free")
	}
}

// A connection that comes and goes is no recovery, one that has served is.
func TestBreakerCrashLoop(t *testing.T) {
	b := &breaker{}
	for i := range breakerMost {
		b.connected()
		b.failed(at(float64(i)))
	}
	if !b.open() {
		t.Error("five connections lost at once do not open it")
	}
	b = &breaker{cool: time.Second}
	for i := range 20 {
		b.failed(at(float64(i)))
		if i%4 == 3 {
			b.succeeded()
		}
	}
	if b.open() || b.cool != time.Second {
		t.Errorf("%+v: failures between successes open it", b)
	}
}
