import { describe, expect, it } from 'vitest'
import { parseChoice, parseCount, parseMoment, parseSubmissionId } from '../../../src/ops/actions/arguments.ts'
import { readIdFile } from '../../../src/ops/operations/track.ts'

const NOW = Date.UTC(2026, 0, 10, 12)
const A = 'aaaaaaaa-0000-4000-8000-00000000000a'
const B = 'bbbbbbbb-0000-4000-8000-00000000000b'

describe('arguments', () => {
  it('parse a date, a date-time, or an age', () => {
    const problems: string[] = []
    const moment = (text: string) => parseMoment(text, '--since', NOW, problems)
    expect(moment('2026-01-09')).toBe('2026-01-09T00:00:00.000000Z')
    expect(moment('2026-01-09T10:00:00+02:00')).toBe('2026-01-09T08:00:00.000000Z')
    expect(moment('90m')).toBe('2026-01-10T10:30:00.000000Z')
    expect(moment('7d')).toBe('2026-01-03T12:00:00.000000Z')
    expect(parseMoment(undefined, '--since', NOW, problems)).toBeUndefined()
    expect(problems).toEqual([])
  })

  it('report each problem in one line and continue', () => {
    const problems: string[] = []
    parseMoment('yesterday', '--since', NOW, problems)
    parseCount('0', '--limit', 100, problems)
    parseCount('1e9', '--limit', 100, problems)
    parseChoice('alive', '--state', ['dead', 'aside'], problems)
    parseSubmissionId('../admin', '--submission', problems)
    expect(problems).toHaveLength(5)
    expect(problems.every((problem) => problem.startsWith('--') && !problem.includes('\n'))).toBe(true)
  })
})

describe('a file of ids', () => {
  it('has one id per line, with comments and empty lines', () => {
    const read = readIdFile(`\uFEFF# from the AMS\n${A.toUpperCase()}\r\n\n  ${B}  \n${A}\n`)
    expect(read).toEqual({ ids: [A, B], problems: [] })
  })

  it.each([',', ';', '\t'])('may be a CSV separated by %j with a column submission_id', (s) => {
    const text = [`name${s}"submission_id"${s}state`, `"Oak${s} ""Plain"" LLC"${s}${A}${s}TX`, `Pine${s}"${B}"${s}`].join('\n')
    expect(readIdFile(text)).toEqual({ ids: [A, B], problems: [] })
  })

  it('may be a CSV with multi-line cells; problems name the first line of the row', () => {
    const text = `name,submission_id,size\n"multi\r\nline, ""Inc""\n",${A},5" pipe\nx,none,\n"\n",nor,\n\nPine,${B},"two\nlines"\n`
    expect(readIdFile(text)).toEqual({
      ids: [A, B],
      problems: ['line 5: "none" is not a submission id (a uuid)', 'line 6: "nor" is not a submission id (a uuid)'],
    })
    expect(readIdFile(`submission_id,name\n${A},"Oak\n${B},Pine\n`)).toEqual({
      ids: [],
      problems: ['line 2: a quoted cell has no closing quote'],
    })
  })

  it('must name the column when it is a CSV', () => {
    expect(readIdFile(`id,name\n${A},Oak\n${B},Pine\n`)).toEqual({
      ids: [],
      problems: ['the first line must contain a column submission_id'],
    })
  })

  it('reports every line without an id', () => {
    const read = readIdFile(`submission_id,name\n${A},x\nnone,y\n,z\n`)
    expect(read.ids).toEqual([A])
    expect(read.problems).toEqual(['line 3: "none" is not a submission id (a uuid)', 'line 4: "" is not a submission id (a uuid)'])
  })
})
