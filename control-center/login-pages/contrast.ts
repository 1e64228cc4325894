/** A colour in the format `#rrggbb`. */
export type Colour = string

const WHITE = '#ffffff'
const BLACK = '#000000'

/** The contrast ratio as defined in WCAG 2.2, from 1 to 21. */
export function contrastOf(one: Colour, other: Colour): number {
  const [light, dark] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

/** Black or white, whichever has the higher contrast with `colour`. The contrast is always at least 4.58. */
export function readableOn(colour: Colour): Colour {
  return contrastOf(colour, WHITE) >= contrastOf(colour, BLACK) ? WHITE : BLACK
}

export function isDark(colour: Colour): boolean {
  return readableOn(colour) === WHITE
}

/** Mixes two colours. @param share the share of `other`, from 0 to 1 */
export function mixed(one: Colour, other: Colour, share: number): Colour {
  const [from, to] = [channelsOf(one), channelsOf(other)]
  const channels = from.map((value, at) => Math.round(value + ((to[at] as number) - value) * share))
  return `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

/** Mixes only as much of `text` into the background as the contrast `ratio` requires. */
export function quietest(background: Colour, text: Colour, ratio: number): Colour {
  for (let share = 0.1; share < 1; share += 0.05) {
    const colour = mixed(background, text, share)
    if (contrastOf(colour, background) >= ratio) return colour
  }
  return text
}

/** The relative luminance as defined in WCAG 2.2, for sRGB. */
function luminanceOf(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function channelsOf(colour: Colour): readonly number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
}
