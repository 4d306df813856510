// Package housetest holds the rules of the house as tests: who may import whom, how long a function may be, where
// goroutines start.
//
// A rule may be lifted where breaking it is better, by a line in the doc comment of the declaration, or above the
// package clause for a whole file:
//
//	//house:allow <measure> <reason>
//
// The measures are file, lines, branches, params, methods and interface. A line that lifts nothing fails as well.
package housetest
