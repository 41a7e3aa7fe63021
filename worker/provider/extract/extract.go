// Package extract picks the sentences that carry a text: a sentence counts for
// the frequency of its words and for its place in its paragraph. No model, no
// randomness: the same text always gives the same extract. It is pure, knows
// nothing of HTTP or receipts, and answers a text without any word with nothing.
package extract

import (
	"slices"
	"strings"
)

// Model names the algorithm; it changes whenever the same text could give
// another extract.
const Model = "kesita-extract-1"

const (
	// openingBonus is the advantage of a paragraph's first sentence. It falls
	// with the distance from the opening.
	openingBonus = 0.5
	// leadBonus is the further advantage of the text's first sentence.
	leadBonus = 0.5
	// shortWords is the length under which a sentence is taken for a heading or
	// a fragment and loses score in proportion.
	shortWords = 6
)

// Summary returns at most limit sentences of text, in their order in the text,
// joined by single spaces, and how many there are. A text without words, or a
// limit under 1, gives "" and 0.
func Summary(text string, limit int) (string, int) {
	sentences := split(text)
	if len(sentences) == 0 || limit < 1 {
		return "", 0
	}
	picked := pick(sentences, limit)
	slices.Sort(picked)
	parts := make([]string, len(picked))
	for i, index := range picked {
		parts[i] = sentences[index].text
	}
	return strings.Join(parts, " "), len(parts)
}

// pick chooses greedily. The words of a chosen sentence lose weight, so that
// the next choice says something else (the idea of SumBasic).
func pick(sentences []sentence, limit int) []int {
	weights := weigh(sentences)
	taken := make([]bool, len(sentences))
	picked := make([]int, 0, min(limit, len(sentences)))
	for len(picked) < limit && len(picked) < len(sentences) {
		best, bestScore := -1, -1.0
		for i, candidate := range sentences {
			if taken[i] {
				continue
			}
			if s := score(candidate, weights); s > bestScore {
				best, bestScore = i, s
			}
		}
		taken[best] = true
		picked = append(picked, best)
		for _, word := range sentences[best].words {
			weights[word] *= weights[word]
		}
	}
	return picked
}

// weigh gives each word its share of all words of the text.
func weigh(sentences []sentence) map[string]float64 {
	weights := make(map[string]float64)
	total := 0.0
	for _, s := range sentences {
		for _, word := range s.words {
			weights[word]++
			total++
		}
	}
	for word, count := range weights {
		weights[word] = count / total
	}
	return weights
}

// score is the mean weight of the words, raised by the place in the paragraph.
// The sum runs in word order, so rounding is the same in every run.
func score(s sentence, weights map[string]float64) float64 {
	sum := 0.0
	for _, word := range s.words {
		sum += weights[word]
	}
	mean := sum / float64(max(len(s.words), shortWords))
	place := 1 + openingBonus/float64(1+s.place)
	if s.lead {
		place += leadBonus
	}
	return mean * place
}
