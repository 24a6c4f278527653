import { describe, expect, it } from 'vitest'
import { judge } from '../tools/audit-report.ts'

/** As npm 11 prints it. */
function report(severity: string): string {
  const advisory = {
    source: 1,
    name: 'qs',
    dependency: 'qs',
    title: 'exhausts memory',
    url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
    severity,
    cwe: [],
    cvss: { score: 7.5, vectorString: null },
    range: '<6.14.1',
  }
  const entry = (via: unknown[]) => ({
    name: 'qs',
    severity,
    isDirect: false,
    via,
    effects: [],
    range: '<6.14.1',
    nodes: [],
    fixAvailable: true,
  })
  return JSON.stringify({ auditReportVersion: 2, vulnerabilities: { qs: entry([advisory]), express: entry(['qs']) }, metadata: {} })
}

describe('the question for known weaknesses', () => {
  it('fails on one that is high or critical', () => {
    for (const severity of ['high', 'critical']) {
      const { lines, isFailed } = judge(report(severity), [])
      expect(isFailed).toBe(true)
      expect(lines).toEqual([expect.stringContaining(`qs <6.14.1: ${severity}, exhausts memory`)])
    }
  })

  it('passes one that is listed, with its reason', () => {
    const { lines, isFailed } = judge(report('high'), [{ advisory: 'GHSA-aaaa-bbbb-cccc', reason: 'no query is parsed' }])
    expect(isFailed).toBe(false)
    expect(lines).toEqual([expect.stringContaining('Accepted: no query is parsed')])
  })

  it('passes moderate advisories, and reports unneeded exceptions', () => {
    const { lines, isFailed } = judge(report('moderate'), [{ advisory: 'GHSA-aaaa-bbbb-cccc', reason: 'no query is parsed' }])
    expect(isFailed).toBe(false)
    expect(lines).toEqual([expect.stringContaining('no known weakness'), expect.stringContaining('does not find any more')])
  })

  it.each([
    ['', true],
    ['npm error audit', true],
    ['{"message":"request to http://127.0.0.1:9/ failed, reason: connect ECONNREFUSED 127.0.0.1:9"}', true],
    ['{"message":"503 Service Unavailable","statusCode":503}', true],
    ['{"message":"405 Method Not Allowed","statusCode":405}', false],
  ])('prints that nothing was checked after %j (fails: %s)', (output, isFailed) => {
    const judged = judge(output, [])
    expect(judged).toEqual({ lines: [expect.stringMatching(/^NOT CHECKED: /)], isFailed })
  })
})
