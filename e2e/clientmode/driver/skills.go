package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// skillsList is the method of the skills extension, SEP-2640.
const skillsList = "skills/list"

type skillsParams struct{ mcp.ParamsBase }

type skillsResult struct {
	mcp.ResultBase
	Skills []skill `json:"skills"`
}

type skill struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

// skillFile is one file of a skill, the SKILL.md first.
type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and hex digits
	Size   int    `json:"size"`   // bytes
}

func listSkills(ctx context.Context, session *mcp.ClientSession) error {
	_, err := skills(ctx, session)
	return err
}

func skills(ctx context.Context, session *mcp.ClientSession) ([]skill, error) {
	result, err := mcp.CallCustomMethod[*skillsParams, *skillsResult](ctx, session, skillsList, &skillsParams{})
	if err != nil {
		return nil, fmt.Errorf("listing the skills: %w", err)
	}
	if len(result.Skills) == 0 {
		return nil, fmt.Errorf("listing the skills: there are none")
	}
	return result.Skills, nil
}

// loadSkills reads the files of every skill up to the first that is not what the list says. In these scenarios it is
// the SKILL.md, and it is an error when all is well.
func loadSkills(ctx context.Context, session *mcp.ClientSession) error {
	all, err := skills(ctx, session)
	if err != nil {
		return err
	}
	for _, skill := range all {
		refused, err := load(ctx, session, skill)
		if err != nil {
			return err
		}
		if refused == nil {
			return fmt.Errorf("%s should not have been what the list says", skill.URI)
		}
	}
	return nil
}

// load reads one skill; refused says which file was not to be trusted.
func load(ctx context.Context, session *mcp.ClientSession, skill skill) (refused, err error) {
	for _, file := range skill.Resources {
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: file.URI})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.URI, err)
		}
		text := result.Contents[0].Text
		if refused := file.verify(text); refused != nil {
			return refused, nil
		}
		if file.URI != skill.URI {
			continue
		}
		for key, value := range skill.Frontmatter {
			if !strings.Contains(text, "\n"+key+": "+value+"\n") {
				return fmt.Errorf("%s has another %s than the list", file.URI, key), nil
			}
		}
	}
	return nil, nil
}

func (f skillFile) verify(text string) error {
	if len(text) != f.Size {
		return fmt.Errorf("%s has %d bytes, listed are %d", f.URI, len(text), f.Size)
	}
	if digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); digest != f.Digest {
		return fmt.Errorf("%s has the digest %s, listed is %s", f.URI, digest, f.Digest)
	}
	return nil
}
