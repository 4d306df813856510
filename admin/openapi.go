package admin

import (
	_ "embed"
	"net/http"
	"slices"
)

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 document of the API.
func OpenAPI() []byte { return slices.Clone(openAPI) }

func getOpenAPI(a *api, w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // the client is gone where this fails
	return nil
}
