import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const project = join(import.meta.dirname, '../..')

/** The sources as one text, in which a message that is written over several lines is whole again. */
function sources(): string {
  const files = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  return files
    .map((path) => readFileSync(join(project, 'src', path), 'utf8'))
    .join('\n')
    .replace(/['`] \+\s*['`]/g, '')
    .toLowerCase()
}

it('quotes in the runbook, in italics, are texts of the program', () => {
  const pages = ['runbook', 'warnings-data', 'warnings-service']
  const prose = pages
    .map((page) => readFileSync(join(project, `docker/${page}.md`), 'utf8').replace(/```[\s\S]*?```|`[^`\n]*`/g, ''))
    .join('\n')
  const quotes = [...prose.matchAll(/(?<!\*)\*([^*\n]+)\*(?!\*)/g)].map(([, quote = '']) => quote)
  const program = sources()
  expect(quotes.length).toBeGreaterThan(15)
  expect(quotes.filter((quote) => !program.includes(quote.toLowerCase()))).toEqual([])
})
