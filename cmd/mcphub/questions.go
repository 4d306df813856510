package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
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

// wordPart is what a word is made of, or the space between words.
var wordPart = regexp.MustCompile(`^(?:\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s'"\\]+)|\s+)`)

var escapedRune = regexp.MustCompile(`\\(.)`)

// words splits a line as a shell does, with its quotes and backslashes and nothing else of it.
func words(line string) ([]string, error) {
	var out []string
	inWord := false
	for line != "" {
		part := wordPart.FindStringSubmatch(line)
		if part == nil {
			return nil, errors.New("the arguments end inside quotes; close them")
		}
		line = line[len(part[0]):]
		if strings.TrimSpace(part[0]) == "" {
			inWord = false
			continue
		}
		if !inWord {
			out, inWord = append(out, ""), true
		}
		out[len(out)-1] += part[1] + part[2] + escapedRune.ReplaceAllString(part[3], "$1") + part[4]
	}
	return out, nil
}
