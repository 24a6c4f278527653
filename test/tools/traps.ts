import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

const TESTS = join(import.meta.dirname, '..')
const README = join(TESTS, 'README.md')
const TITLE = /(['"`])(traps? \d\d(?:(?:, | and |,)\d\d)*): ((?:\\.|(?!\1).)*)\1/g

/** A test that bears the number of a trap. */
export interface TrapTest {
  readonly trap: number
  readonly title: string
  /** Relative to `test/`. */
  readonly file: string
}

/** Every trap that this release has to withstand; the others belong to parts that are not built yet. */
export const trapsOfThisRelease: readonly number[] = [
  [1, 18],
  [22, 22],
  [24, 32],
  [34, 46],
  [48, 52],
  [57, 59],
  [61, 66],
  [69, 69],
  [71, 73],
  [76, 78],
  [80, 82],
].flatMap(([first = 0, last = 0]) => Array.from({ length: last - first + 1 }, (_, index) => first + index))

/** All tests that bear a trap's number, found in the titles of the test files. */
export function trapTests(): TrapTest[] {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
  return files
    .sort()
    .flatMap((file) =>
      [...readFileSync(join(TESTS, file), 'utf8').matchAll(TITLE)].flatMap(([, , numbers = '', title = '']) =>
        [...numbers.matchAll(/\d\d/g)].map(([number]) => ({ trap: Number(number), title: title.replaceAll('\\', ''), file })),
      ),
    )
}

/** The table of test/README.md. */
export function trapTable(tests: readonly TrapTest[]): string {
  const numbers = [...new Set(tests.map(({ trap }) => trap))].sort((a, b) => a - b)
  const rows = numbers.map((trap) => {
    const own = tests.filter((test) => test.trap === trap)
    const titles = [...new Set(own.map(({ title }) => title))].map((title) => title.replaceAll('|', '\\|'))
    const files = [...new Set(own.map(({ file }) => `\`${file}\``))]
    return `| ${String(trap).padStart(2, '0')} | ${titles.join('; ')} | ${files.join(', ')} |`
  })
  return ['| trap | what is proven | by |', '|---|---|---|', ...rows].join('\n')
}

/** test/README.md with the table as it must be. */
export function readmeWithTable(readme: string, table: string): string {
  return readme.replace(/<!-- traps -->[\s\S]*<!-- end of traps -->/, () => `<!-- traps -->\n${table}\n<!-- end of traps -->`)
}

// `node test/tools/traps.ts` writes the table anew.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(README, readmeWithTable(readFileSync(README, 'utf8'), trapTable(trapTests())))
  console.log(`wrote ${relative(process.cwd(), README)}`)
}
