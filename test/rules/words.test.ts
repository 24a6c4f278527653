import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
/** Archaic and literary words, and names that the glossary replaces. */
const AVOIDED = [
  'anew|beside|told|tells?|whoever|whatever|somebody|anybody|shall|mend(?:s|ed)?|thereof|of which|meanwhile|at once|in place of|as long as',
  'by itself|so many|so long|stands|lies|proven|proves|proved|parked|gives? up|given up|ledger|contradict\\w*|lost branch',
  'refused deliver(?:y|ies)|interface drift|drift of the interface|needs you|goes on|go on|once more',
].join('|')
const FILES = /\.(?:md|ts|tsx|mjs|css|html|ya?ml|json)$/
const CODE = /\.(?:ts|tsx|mjs|css)$/
/** Lists of these words, and files of other authors. */
const EXCEPT = ['test/rules/words.test.ts', 'package-lock.json']

/** The title of a test or a group of tests, also after a table of cases. */
const TITLE = /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/g

/** @returns what a person reads in a line: the whole line of a document; comments, and texts of the product, in code. */
function readable(file: string, line: string): string {
  if (!CODE.test(file)) return line
  const comments = line.match(/(?:^|\s)\/\/.*|^\s*\/?\*.*/g) ?? []
  const texts =
    file.startsWith('test/') || line.startsWith('import') ? [] : (line.match(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`?/g) ?? [])
  return [...comments, ...texts].join(' ')
}

it('documents, screens, terminal texts, comments and titles of tests use the words of the writing guide', () => {
  const avoided = new RegExp(`\\b(?:${AVOIDED})\\b`, 'i')
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
  const found = files
    .filter((file) => FILES.test(file) && !EXCEPT.includes(file))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, ROOT), 'utf8')
      const lines = text.split('\n').map((line, index) => [`${file}:${index + 1}`, avoided.exec(readable(file, line))?.[0]] as const)
      const titles = file.startsWith('test/')
        ? [...text.matchAll(TITLE)].map(([, title = '']) => [file, avoided.exec(title)?.[0]] as const)
        : []
      return [...lines, ...titles].filter(([, word]) => word !== undefined)
    })
  expect(found).toEqual([])
})
