package main

import (
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

// Sizes of a plot, in pixels.
const (
	plotWidth, plotHeight   = 720, 360
	plotLeft, plotTop       = 150, 40
	plotRight, plotBottom   = 30, 40
	barHeight, maxPoints    = 26, 400
	innerWidth, innerHeight = plotWidth - plotLeft - plotRight, plotHeight - plotTop - plotBottom
)

// colours are told apart by people who see colours differently, too.
func colours() []string {
	return []string{"#999999", "#56b4e9", "#009e73", "#e69f00", "#cc79a7", "#0072b2"}
}

// plot writes the pictures of a run into a folder: a few bars and a line are
// less than any charting library would bring along.
func plot(folder string, results []Result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		"hit.svg":   bars("Input read from caches, %", results, func(r Result) float64 { return 100 * r.Hit() }),
		"cost.svg":  bars("Cost, USD", results, func(r Result) float64 { return r.Cost }),
		"moves.svg": bars("Turns answered by another account than the turn before", results, func(r Result) float64 { return float64(r.Moves) }),
		"hours.svg": lines("Input read from caches by the hour, %", results),
	}
	var failed error
	for name, text := range files {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return failed
}

func svg(title, inner string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+
		`<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="24" font-size="16">%s</text>%s</svg>`+"\n",
		plotWidth, plotHeight, plotLeft, html.EscapeString(title), inner)
}

// bars is one bar for each policy.
func bars(title string, results []Result, of func(Result) float64) string {
	most := 0.0
	for _, r := range results {
		most = max(most, of(r))
	}
	var b strings.Builder
	for i, r := range results {
		y, width := plotTop+i*(barHeight+14), 0.0
		if most > 0 {
			width = of(r) / most * (innerWidth - 80)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.4g</text>`,
			plotLeft-8, y+18, html.EscapeString(r.Policy), plotLeft, y, width, barHeight, colours()[i%len(colours())], plotLeft+width+6, y+18, of(r))
	}
	return svg(title, b.String())
}

// lines is one line for each policy over the hours of the trace.
func lines(title string, results []Result) string {
	var b strings.Builder
	for _, share := range []int{0, 25, 50, 75, 100} {
		y := plotTop + innerHeight*(100-share)/100
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ddd"/><text x="%d" y="%d" text-anchor="end">%d</text>`,
			plotLeft, y, plotLeft+innerWidth, y, plotLeft-8, y+4, share)
	}
	for i, r := range results {
		colour := colours()[i%len(colours())]
		every := max(1, len(r.HitByHour)/maxPoints)
		var points []string
		for h := 0; h < len(r.HitByHour); h += every {
			x := float64(plotLeft) + float64(innerWidth)*float64(h)/float64(max(1, len(r.HitByHour)-1))
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, float64(plotTop)+float64(innerHeight)*(1-r.HitByHour[h])))
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/><text x="8" y="%d" fill="%s">%s</text>`,
			colour, strings.Join(points, " "), plotTop+16+i*18, colour, html.EscapeString(r.Policy))
	}
	return svg(title, b.String())
}
