package config

import (
	"errors"
	"fmt"
)

// ErrNotHandedOver says that the setting sessionServers lets nobody hand servers over.
var ErrNotHandedOver = errors.New(`servers cannot be handed over: the setting sessionServers is "off"`)

// HandedOver reads servers that somebody hands over while the hub runs: {"mcpServers": {…}}, entries as in a file. allow is
// the setting sessionServers. Their ${VAR} expand to nothing but defaults and no variable of the hub's environment
// reaches them, since those who hand them over need not be those who run the hub. The error names everything that is
// wrong.
func HandedOver(data []byte, as Source, allow string) ([]*Server, error) {
	cfg, err := Parse("the request", data, func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range cfg.Problems {
		if p.Severity == Error {
			errs = append(errs, errors.New(p.String()))
		}
	}
	if len(cfg.Servers) == 0 && errs == nil {
		errs = append(errs, errors.New(`there is no server in it; write {"mcpServers": {"name": {…}}}`))
	}
	for _, s := range cfg.Servers {
		s.Source = as
		switch {
		case allow != "http" && allow != "any":
			return nil, ErrNotHandedOver
		case s.Type == TypeStdio && allow != "any":
			errs = append(errs, fmt.Errorf(`mcpServers.%s: is a program, and the setting sessionServers lets HTTP servers in only`, s.Name))
		case s.InheritEnv:
			errs = append(errs, fmt.Errorf("mcpServers.%s.inheritEnv: the hub's environment is not handed to such a server; list what it needs in env", s.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return cfg.Servers, nil
}
