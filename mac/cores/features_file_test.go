package cores_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// feature is a row of a core's feature file (features/TEMPLATE.ini).
type feature struct {
	name  string
	state string   // "works", "partly" or "no"
	text  string   // the detail of what works; what is missing, or why
	tests []string // "folder TestName/sub-test"
}

// sheet is a feature file.
type sheet struct {
	title, note string
	rows        []feature
}

func (s *sheet) row(name string) feature {
	for _, r := range s.rows {
		if r.name == name {
			return r
		}
	}
	return feature{}
}

// parseSheet reads a feature file.
func parseSheet(text string) (*sheet, error) {
	s := &sheet{}
	section := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			section = line
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d: %q: want NAME = VALUE", i+1, line)
		case section == "" && name == "title":
			s.title = value
		case section == "" && name == "note":
			s.note = value
		case section == "[features]":
			r, err := parseRow(name, value)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", i+1, name, err)
			}
			s.rows = append(s.rows, r)
		default:
			return nil, fmt.Errorf("line %d: %q: not known", i+1, name)
		}
	}
	return s, nil
}

func parseRow(name, value string) (feature, error) {
	value, tests, proved := strings.Cut(value, "|")
	state, text, _ := strings.Cut(strings.TrimSpace(value), " ")
	r := feature{name: name, state: strings.TrimSuffix(state, ":"), text: strings.TrimSpace(text)}
	if proved {
		for _, t := range strings.Split(tests, ",") {
			r.tests = append(r.tests, strings.TrimSpace(t))
		}
	}
	switch colon := strings.HasSuffix(state, ":"); {
	case r.state == "works" && !colon && proved:
	case r.state == "partly" && colon && proved && r.text != "":
	case r.state == "no" && !proved && colon == (r.text != ""):
	default:
		return r, fmt.Errorf("want works [DETAIL] | TESTS, partly: WHAT IS MISSING | TESTS, or no[: WHY]; have %q", value)
	}
	return r, nil
}

// readSheet reads features/NAME.ini.
func readSheet(name string) (*sheet, error) {
	b, err := os.ReadFile(filepath.Join("features", name+".ini"))
	if err != nil {
		return nil, err
	}
	s, err := parseSheet(string(b))
	if err != nil {
		return nil, fmt.Errorf("features/%s.ini: %w", name, err)
	}
	return s, nil
}

// table is the README's feature table: a column a core, and below it what is
// missing.
func table(names []string, sheets []*sheet) string {
	var b strings.Builder
	b.WriteString("| |")
	for i, s := range sheets {
		fmt.Fprintf(&b, " %s (`%s`) |", s.title, names[i])
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sheets)) + "\n")
	var remarks []string
	for _, row := range sheets[0].rows {
		fmt.Fprintf(&b, "| %s |", row.name)
		for i, s := range sheets {
			r := s.row(row.name)
			cell := map[string]string{"works": "yes", "partly": "partly", "no": "–"}[r.state]
			if r.state == "works" && r.text != "" {
				cell = r.text
			}
			if r.state == "partly" {
				remarks = append(remarks, fmt.Sprintf("- `%s`, %s: %s.", names[i], r.name, r.text))
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for i, s := range sheets {
		if s.note != "" {
			fmt.Fprintf(&b, "- `%s`: %s.\n", names[i], s.note)
		}
	}
	for _, r := range remarks {
		b.WriteString(r + "\n")
	}
	return b.String()
}
