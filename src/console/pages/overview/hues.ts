/** Colors from `tokens.css` for the series of a chart. Neutral colors come first. */
const hues = ['accent', 'unknown', 'text', 'line-strong', 'waiting', 'good', 'bad'] as const
export type Hue = (typeof hues)[number]

function meaningOf(label: string): Hue | undefined {
  if (/^(?:2|ok$)/.test(label)) return 'good'
  if (/^(?:4|throttled$)/.test(label)) return 'waiting'
  if (/^(?:5|network$|unavailable$|rejected$)/.test(label)) return 'bad'
  return undefined
}

/**
 * @returns a color for each series. If several series share a meaning, only the first gets that meaning's color. A
 * color
 * repeats only if there are more series than colors.
 */
export function huesOf(labels: readonly string[]): Hue[] {
  const wanted = labels.map(meaningOf)
  const own = wanted.map((hue, index) => (wanted.indexOf(hue) === index ? hue : undefined))
  const free = hues.filter((hue) => !own.includes(hue))
  return own.map((hue) => hue ?? free.shift() ?? 'unknown')
}
