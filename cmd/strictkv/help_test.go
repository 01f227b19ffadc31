package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv/internal/plain"
)

// generated stands in the page before what help prints.
const generated = "<!-- what follows is made by TestHelp of cmd/strictkv, with -update -->\n"

// TestHelp: the page has what the command's help prints, and that fits a terminal.
func TestHelp(t *testing.T) {
	var text strings.Builder
	text.WriteString(generated)
	root := (&app{}).root()
	for _, c := range root.Commands() {
		if c.Name() != "help" && c.Name() != "completion" {
			require.NoError(t, plain.Check(help(c)), c.Name())
			page(&text, c)
		}
	}
	name := filepath.Join("..", "..", "docs", "cli.md")
	was, err := os.ReadFile(name)
	require.NoError(t, err)
	written, old, found := strings.Cut(string(was), generated)
	require.True(t, found, "%s has a line: %s", name, generated)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(written+text.String()), 0o600))
		return
	}
	assert.Equal(t, text.String(), generated+old, "write it anew by -update")
	require.NoError(t, plain.Check(help(root)))
}

// page writes the section of a command.
func page(out *strings.Builder, c *cobra.Command) {
	out.WriteString("\n### " + c.Name() + "\n\n```\n" + help(c) + "```\n")
}

// help is what --help prints of a command, but for the flags that all have.
func help(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	text := c.Short + ".\n"
	if c.Long != "" {
		text = c.Long + "\n"
	}
	text += "\nUsage:\n  " + c.UseLine() + "\n"
	if c.Example != "" {
		text += "\nExamples:\n" + c.Example + "\n"
	}
	if c.HasParent() {
		if flags := c.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
			flags.SortFlags = true
			text += "\nFlags:\n" + flags.FlagUsagesWrapped(80)
		}
	}
	return text
}
