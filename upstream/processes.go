package upstream

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mcphub/config"
)

// Processes is what all servers of a hub share of the machine: how many of their programs may live, and how much memory
// those may hold together. Over it, the least recently used idle one is shut down first. nil is without bounds.
type Processes struct {
	// Every is the time between two looks at the memory; 0 means 30 s.
	Every time.Duration

	most   int   // programs; 0: no bound
	memory int64 // bytes; 0: no bound

	mu      sync.Mutex // guards the rest
	places  map[*place]struct{}
	servers map[*Server]struct{}
	freed   chan struct{} // closed and replaced when a program has ended
	timer   *time.Timer   // the next look at the memory; nil where no program lives
}

// NewProcesses makes a budget of programs and of memory in MiB; 0 bounds nothing. Memory is known on Linux only.
func NewProcesses(most, memoryMB int) *Processes {
	if most == 0 && memoryMB == 0 {
		return nil
	}
	return &Processes{
		most: most, memory: int64(memoryMB) << 20, freed: make(chan struct{}),
		places: map[*place]struct{}{}, servers: map[*Server]struct{}{},
	}
}

// place is the right to run one program. A nil one needs no giving back.
type place struct {
	of    *Processes
	group int // of the program's processes; 0 before it runs
}

// join makes s one of those whose programs may be shut down for others; leave takes that back.
func (p *Processes) join(s *Server) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.servers[s] = struct{}{}
	}
}

func (p *Processes) leave(s *Server) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.servers, s)
	}
}

// lookEvery is how often a start that has to wait looks whether a program has become idle; memoryEvery where that means
// to look at all processes of the machine.
const (
	lookEvery   = 50 * time.Millisecond
	memoryEvery = 500 * time.Millisecond
)

// take waits for a place, shutting down what is idle. The error is of kind Busy.
func (p *Processes) take(ctx context.Context) (*place, error) {
	if p == nil {
		return nil, nil
	}
	every := lookEvery
	if p.memory > 0 {
		every = memoryEvery
	}
	for {
		got, freed, full := p.try()
		if got != nil {
			return got, nil
		}
		if p.makeRoom(ctx, full) {
			continue
		}
		look := time.NewTimer(every)
		select {
		case <-freed:
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return nil, &Error{Kind: Busy, NotSent: true, crowded: true,
				Text: "there is no room for its program: " + full + ", and none of the others is idle; raise that, or try again later"}
		}
		look.Stop()
	}
}

// try takes a place where there is one; else freed is closed with the next that is, and full says what is in the way.
func (p *Processes) try() (got *place, freed <-chan struct{}, full string) {
	over := p.overMemory()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.most > 0 && len(p.places) >= p.most:
		return nil, p.freed, fmt.Sprintf("settings.maxProcesses is %d", p.most)
	case over && len(p.places) > 0:
		return nil, p.freed, fmt.Sprintf("settings.maxProcessMemoryMB is %d", p.memory>>20)
	}
	got = &place{of: p}
	p.places[got] = struct{}{}
	if p.memory > 0 && p.timer == nil {
		p.timer = time.AfterFunc(p.every(), p.look)
	}
	return got, nil, ""
}

func (p *Processes) every() time.Duration { return cmp.Or(p.Every, 30*time.Second) }

// runs notes which processes the place is used for.
func (pl *place) runs(group int) {
	if pl != nil {
		pl.of.mu.Lock()
		defer pl.of.mu.Unlock()
		pl.group = group
	}
}

// free gives the place back.
func (pl *place) free() {
	if pl == nil {
		return
	}
	p := pl.of
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.places, pl)
	close(p.freed)
	p.freed = make(chan struct{})
	if len(p.places) == 0 && p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// overMemory says whether the programs hold more memory than they may.
func (p *Processes) overMemory() bool {
	if p.memory == 0 {
		return false
	}
	groups := map[int]bool{}
	p.mu.Lock()
	for pl := range p.places {
		groups[pl.group] = true
	}
	p.mu.Unlock()
	delete(groups, 0)
	return len(groups) > 0 && resident(groups) > p.memory
}

// makeRoom shuts down the program that was used least recently of those that are idle, and says whether there was one.
// It returns when that is gone.
func (p *Processes) makeRoom(ctx context.Context, why string) bool {
	type candidate struct {
		server *Server
		last   time.Time
	}
	p.mu.Lock()
	servers := slices.Collect(maps.Keys(p.servers))
	p.mu.Unlock()
	var idle []candidate
	for _, s := range servers {
		if s.PID() != 0 {
			idle = append(idle, candidate{s, s.needed()})
		}
	}
	slices.SortFunc(idle, func(a, b candidate) int {
		return cmp.Or(a.last.Compare(b.last), strings.Compare(a.server.Name(), b.server.Name()))
	})
	for _, c := range idle {
		if gone := c.server.yield(ctx, why); gone != nil {
			select {
			case <-gone:
			case <-ctx.Done():
			}
			return true
		}
	}
	return false
}

// look shuts idle programs down while all together hold too much memory, and looks again later.
func (p *Processes) look() {
	ctx, cancel := context.WithTimeout(context.Background(), p.every())
	defer cancel()
	why := fmt.Sprintf("settings.maxProcessMemoryMB is %d", p.memory>>20)
	for p.overMemory() && p.makeRoom(ctx, why) && ctx.Err() == nil {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer = time.AfterFunc(p.every(), p.look)
	}
}

// yielding asks a server to shut its program down where nobody uses it.
type yielding struct {
	why   string
	reply chan<- <-chan struct{} // gets what is closed when the program is gone, nil where it is in use
}

// yield shuts the program down where nobody uses it. What it returns is closed when that is gone, and nil where it is in use.
func (s *Server) yield(ctx context.Context, why string) <-chan struct{} {
	reply := make(chan (<-chan struct{}), 1)
	select {
	case s.yields <- yielding{why, reply}:
		return <-reply
	case <-s.ended:
	case <-ctx.Done():
	}
	return nil
}

// yielded answers a yield. A server that is to be kept connected has no idle time.
func (k *keeper) yielded(y yielding) {
	var gone <-chan struct{}
	if conn := k.s.conn.Load(); conn != nil && k.s.cfg.Lifecycle != config.LifecycleKeepAlive {
		l, ok := conn.link.(*stdioLink)
		if ok && k.lapse("shut down to make room for another program, since "+y.why+"; the next call reconnects") {
			gone = l.child.gone
		}
	}
	y.reply <- gone
}
