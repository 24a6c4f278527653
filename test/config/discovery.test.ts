import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { account, problemsOf, REFUSED_PATHS, withAccount } from './support.ts'

const withDiscovery = (discovery: string) => withAccount(`discovery: ${discovery}`)

describe('paths that are probed for submissions', () => {
  test('there are none unless the file names some', () => {
    expect(loadConfig(account).accounts[0]?.discovery).toBeNull()
    const paths = ['/broker/submissions?limit=200&status=open', '/broker/insureds', '/broker/insureds/{insured_id}']
    const config = loadConfig(withDiscovery(`{ paths: ${JSON.stringify(paths)} }`))
    expect(config.accounts[0]?.discovery).toEqual({ paths, idFields: {}, everyMs: 3_600_000 })
    const doubled = loadConfig(withDiscovery('{ paths: [/x, /x], every: 10m }'))
    expect(doubled.accounts[0]?.discovery).toEqual({ paths: ['/x'], idFields: {}, everyMs: 600_000 })
  })

  test('the field of the id is named for a configured path', () => {
    const named = loadConfig(withDiscovery('{ paths: [/list?a=b], id_fields: { "/list?a=b": id } }'))
    expect(named.accounts[0]?.discovery?.idFields).toEqual({ '/list?a=b': 'id' })
    const at = 'accounts[0].discovery.id_fields'
    expect(problemsOf(withDiscovery('{ paths: [/x], id_fields: { /y: id } }'))).toEqual([
      `${at} in CONFIG_FILE must name only entries of \`paths\``,
    ])
    expect(problemsOf(withDiscovery('{ paths: [/x], id_fields: { /x: "a b" } }'))[0]).toMatch(/must be the name of a field, such as `id`$/)
  })

  test('trap 45, trap 55, trap 76: none leaves the base, exchanges secrets or is counted against a daily limit', () => {
    const more = ['/broker/x?y?z', '/broker/{Insured}', '/broker/submissions/{submission_id}/requirements', '/broker/{a_id}/{b_id}']
    for (const path of [...REFUSED_PATHS, ...more]) {
      expect(problemsOf(withDiscovery(`{ paths: [${JSON.stringify(path)}] }`)), path).toEqual([
        expect.stringMatching(/^accounts\[0\]\.discovery\.paths\[0\] in CONFIG_FILE must (?:not |contain |be a path)/),
      ])
    }
    const said = (path: string) => problemsOf(withDiscovery(`{ paths: ["${path}"] }`))[0]
    expect(said('broker/x')).toMatch(/such as \/broker\/insureds or \/broker\/insureds\/\{insured_id\}; a query is optional$/)
    expect(said('/a/{submission_id}')).toMatch(/ must not contain \{submission_id\}: probing finds those ids$/)
    expect(said('/a/{b_id}/{c_id}')).toMatch(/ must contain at most one \{key\}; use several paths$/)
    expect(problemsOf(withDiscovery('{ paths: [] }'))).toEqual([expect.stringContaining('must hold at least one path')])
    expect(problemsOf(withDiscovery('{ paths: [/x], every: 1s }'))).toEqual([expect.stringContaining('must be a duration from 1m to 30d')])
  })
})
