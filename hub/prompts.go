package hub

import (
	"fmt"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// prompt is one prompt of a server, before it has a published name.
type prompt struct {
	route
	raw []byte
}

func (c *catalog) readPrompts(s *upstream.Server, offer *upstream.Offer) (prompts []*prompt) {
	seen := map[string]bool{}
	for _, raw := range offer.Prompts {
		own := wire.String(wire.Get(raw, "name"))
		if own == "" || seen[own] {
			c.note(s.Name(), "prompt %q has no name of its own; it is not published", own)
			continue
		}
		seen[own] = true
		prompts = append(prompts, &prompt{route{s, own}, raw})
	}
	return prompts
}

// namePrompts publishes prompts under names made like those of tools. The hub's own prompt comes last.
func (c *catalog) namePrompts(set *config.Settings, prompts []*prompt) []item {
	count := map[string]int{}
	name := func(p *prompt) string { return publish(set, p.server.Config(), p.own, p.server.Config().BareNames) }
	for _, p := range prompts {
		count[name(p)]++
	}
	items := make([]item, 0, len(prompts)+1)
	for _, p := range prompts {
		published := name(p)
		if count[published] > 1 || c.skills.named(published) != nil {
			c.note(p.server.Name(), "prompt %q shares the name %s with another; both have a suffix", p.own, published)
			published = suffixed(set, published, p.server.Name(), p.own)
		}
		c.prompts[published] = p.route
		items = append(items, item{published, wire.Splice(p.raw, wire.Edit{Key: "name", Value: wire.Quote(published)}), p.server})
	}
	for _, s := range c.skills {
		items = append(items, s.prompt())
	}
	return append(items, item{inlineName, inlinePrompt, nil})
}

// notPrompt is the error for a prompt that nobody publishes.
func notPrompt(name string) Answer {
	return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %s; prompts/list has the names", name)})
}
