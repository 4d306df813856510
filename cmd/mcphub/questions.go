package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// questions asks on the terminal, on stderr so that stdout holds results alone. After the first error nothing is asked.
type questions struct {
	in  *bufio.Reader
	out io.Writer
	err error
}

func newQuestions(cmd *cobra.Command) *questions {
	return &questions{in: bufio.NewReader(cmd.InOrStdin()), out: cmd.ErrOrStderr()}
}

// stdin is the file that answers come from, or nil.
func stdin(cmd *cobra.Command) *os.File {
	f, _ := cmd.InOrStdin().(*os.File)
	return f
}

// may asks for an answer that can be empty.
func (q *questions) may(question string) string {
	if q.err != nil {
		return ""
	}
	fmt.Fprint(q.out, question+": ")
	line, err := q.in.ReadString('\n')
	if err != nil {
		q.err = errors.New("the question was not answered; nothing was changed")
		return ""
	}
	return strings.TrimSpace(line)
}

// must asks until there is an answer.
func (q *questions) must(question string) string {
	for q.err == nil {
		if answer := q.may(question); answer != "" {
			return answer
		}
	}
	return ""
}

// several asks until an answer is empty.
func (q *questions) several(question string) []string {
	var answers []string
	for {
		answer := q.may(question)
		if answer == "" {
			return answers
		}
		answers = append(answers, answer)
	}
}

// words splits a line as a shell does, with its quotes and backslashes and nothing else of it.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quote rune
	started, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			started, escaped = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			started, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t'):
			if started {
				out = append(out, word.String())
			}
			word.Reset()
			started = false
		default:
			started = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("the arguments end inside quotes; close them")
	}
	if started {
		out = append(out, word.String())
	}
	return out, nil
}
