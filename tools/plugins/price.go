package plugins

import (
	"errors"
	"fmt"
)

// maxPrice bounds what one call may be said to cost, in USD: more is a slip of the pen.
const maxPrice = 1000

func (p *problems) price(key string, usd *float64) {
	if usd != nil && !(*usd >= 0 && *usd <= maxPrice) { // nor is it NaN, which YAML has
		p.add("%s must be a sum in USD from 0 to %d, such as 0.04", key, maxPrice)
	}
}

// priceOf is what a call costs, in USD. With a model of which nobody said so it is 0, with an error that says what is missing.
func priceOf(key, model string, usd *float64) (float64, error) {
	switch {
	case usd != nil:
		return *usd, nil
	case model == "":
		return 0, nil
	}
	return 0, fmt.Errorf("the model %s has no price, so that its cost can't be capped; give it %s, 0 for one that costs nothing", model, key)
}

// PicturePrice is what a picture costs, in USD. Its error says that nobody knows, which matters where spending is capped.
func (s Images) PicturePrice() (float64, error) { return priceOf("price", s.Model, s.Price) }

// HearingPrice is what understanding a recording costs: see PicturePrice.
func (s Speech) HearingPrice() (float64, error) { return priceOf("stt_price", s.STTModel, s.STTPrice) }

// SpeakingPrice is what a spoken message costs: see PicturePrice.
func (s Speech) SpeakingPrice() (float64, error) { return priceOf("tts_price", s.TTSModel, s.TTSPrice) }

// Priced says which prices are not known: with them spending can't be capped.
func (s Images) Priced() error {
	_, err := s.PicturePrice()
	return err
}

// Priced says which prices are not known: see Images.Priced.
func (s Speech) Priced() error {
	_, hearing := s.HearingPrice()
	_, speaking := s.SpeakingPrice()
	return errors.Join(hearing, speaking)
}

// Priced says that nothing of this costs anything.
func (Telegram) Priced() error { return nil }
