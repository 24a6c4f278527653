import { styleText } from 'node:util'
import type { Output } from '../../base/host.ts'
import { wordOf } from '../output/words.ts'

const marks = { '✓': 'green', '✗': 'red', '–': 'gray' } as const

/** States that get a color: of accounts, destinations, deliveries, pushes, documents, alarms, and runs. */
const states = {
  green: ['active', 'delivered', 'done', 'stored', 'resolved'],
  yellow: ['aside', 'budget', 'held', 'paused', 'pending', 'retrying', 'stopped', 'unmapped', 'waiting', 'not configured', 'not started'],
  red: ['dead', 'failed', 'firing', 'suspended', 'unknown'],
} as const

type Color = keyof typeof states | 'gray'

const colors: ReadonlyMap<string, Color> = new Map([
  ...Object.entries(marks),
  ...Object.entries(states).flatMap(([color, names]) => names.map((name) => [wordOf(name), color as Color] as const)),
])

/** Matches a symbol at the start of a line, or a state that fills a table cell. Two or more spaces separate cells. */
const PAINTED = new RegExp(
  `^[${Object.keys(marks).join('')}](?= )|(?<=^| {2})(?:${Object.values(states).flat().map(wordOf).join('|')})(?= {2}|$)`,
  'gmu',
)

/** @returns an output that colors symbols and states. If the output has no colors, returns the output unchanged. */
export function withColors(output: Output): Output {
  if (!output.hasColors) return output
  const paint = (text: string) => text.replace(PAINTED, (word) => styleText(colors.get(word) ?? 'gray', word, { validateStream: false }))
  return { ...output, write: (text) => output.write(typeof text === 'string' ? paint(text) : text) }
}
