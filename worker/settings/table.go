package settings

import (
	"fmt"
	"strings"
)

// Table returns the documentation of every variable as a Markdown table, in the order of Settings.
func (s Settings) Table() string {
	var out strings.Builder
	out.WriteString("| variable | default | used by | accepts | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, v := range variablesOf(&s) {
		standard := "none"
		if v.Default != "" {
			standard = "`" + v.Default + "`"
		}
		if v.Name == "DATABASE_URL" {
			standard = "required"
		}
		about := v.About
		if v.isSecret() {
			about += " (secret: never printed)"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", v.Name, standard, v.Services, v.instead(), about)
	}
	return out.String()
}
