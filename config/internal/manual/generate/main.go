// Command generate writes what is made from the structs of package config: its schema, and the tables of README.md.
// Run it by go generate ./config.
package main

import (
	"log"

	"mcphub/config/internal/manual"
)

func main() {
	files, err := manual.Files(".", "..")
	if err == nil {
		err = manual.Write(files)
	}
	if err != nil {
		log.Fatal(err)
	}
}
