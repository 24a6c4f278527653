/** Names of colors in `tokens.css` for the series of a chart. Colors without a meaning come first. */
const hues = ['accent', 'unknown', 'text', 'line-strong', 'waiting', 'good', 'bad'] as const
export type Hue = (typeof hues)[number]

function meaningOf(label: string): Hue | undefined {
  if (/^(?:2|ok$)/.test(label)) return 'good'
  if (/^(?:4|throttled$)/.test(label)) return 'waiting'
  if (/^(?:5|network$|unavailable$|rejected$)/.test(label)) return 'bad'
  return undefined
}

/**
 * Chooses a color for each series. If several series have the same meaning, only the first gets the color of that
 * meaning. A color is used twice only if there are more series than colors.
 */
export function huesOf(labels: readonly string[]): Hue[] {
  const wanted = labels.map(meaningOf)
  const own = wanted.map((hue, index) => (wanted.indexOf(hue) === index ? hue : undefined))
  const free = hues.filter((hue) => !own.includes(hue))
  return own.map((hue) => hue ?? free.shift() ?? 'unknown')
}
