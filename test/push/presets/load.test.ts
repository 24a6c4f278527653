import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { presetFiles } from '../../../src/config/sources/presets.ts'
import { checkTemplates } from '../../../src/push/http/check-templates.ts'
import { account, type Env, problemsOf, withFile } from '../../config/support.ts'

/** Settings that the agency must provide, by preset. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'applied-epic': [
    'EPIC_ACTIVITY_CODE_ID',
    'EPIC_AGENCY_ID',
    'EPIC_BRANCH_ID',
    'EPIC_ACCESS_LEVEL_ID',
    'EPIC_CLIENT_ID',
    'EPIC_CLIENT_SECRET',
  ],
  hawksoft: ['HAWKSOFT_AGENCY_ID', 'HAWKSOFT_USER', 'HAWKSOFT_PASSWORD'],
  agencyzoom: ['AGENCYZOOM_USERNAME', 'AGENCYZOOM_PASSWORD'],
  ezlynx: ['EZLYNX_CLIENT_ID', 'EZLYNX_CLIENT_SECRET', 'EZLYNX_USERNAME', 'EZLYNX_INTEGRATION_GROUP_ID', 'EZLYNX_SCOPE'],
  dataverse: ['DATAVERSE_HOST', 'DATAVERSE_TENANT', 'DATAVERSE_CLIENT_ID', 'DATAVERSE_CLIENT_SECRET'],
  hubspot: ['HUBSPOT_TOKEN'],
  salesforce: ['SALESFORCE_HOST', 'SALESFORCE_CLIENT_ID', 'SALESFORCE_CLIENT_SECRET'],
  'salesforce-batch': ['SALESFORCE_HOST', 'SALESFORCE_CLIENT_ID', 'SALESFORCE_CLIENT_SECRET'],
  zapier: ['ZAPIER_HOOK_URL'],
  'power-automate': ['POWER_AUTOMATE_URL'],
  'kafka-rest': ['KAFKA_REST_HOST', 'KAFKA_CLUSTER', 'KAFKA_TOPIC', 'KAFKA_REST_USER', 'KAFKA_REST_PASSWORD'],
  'azure-service-bus': [
    'SERVICE_BUS_HOST',
    'SERVICE_BUS_QUEUE',
    'SERVICE_BUS_TENANT',
    'SERVICE_BUS_CLIENT_ID',
    'SERVICE_BUS_CLIENT_SECRET',
  ],
  nowcerts: ['NOWCERTS_USERNAME', 'NOWCERTS_PASSWORD'],
}

/** Those that may be sent a change twice: their target, or its reader, has it once. */
const IDEMPOTENT: readonly string[] = ['dataverse', 'salesforce', 'salesforce-batch', 'kafka-rest', 'azure-service-bus']

const UNMAPPED: readonly string[] = ['zapier', 'power-automate', 'kafka-rest', 'azure-service-bus']

const settings = (preset: string, env: Env = {}): Env => ({
  ...account,
  PROTECT_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  ...withFile(`destinations: [{ name: ams, preset: ${preset} }]`, env),
})

describe.each([...presetFiles().keys()])('the preset %s', (preset) => {
  const needs = NEEDS[preset] ?? []

  it('needs only its name and its variables', () => {
    const config = loadConfig(settings(preset, Object.fromEntries(needs.map((name) => [name, 'a-value']))))
    const [destination] = config.destinations
    const idempotent = IDEMPOTENT.includes(preset)
    const mapping = UNMAPPED.includes(preset) ? 'none' : 'required'
    expect(destination).toMatchObject({ kind: 'http', mapping, idempotent, personalFields: [], allowPrivate: false })
    expect(destination?.allowHosts).not.toEqual([])
    expect(destination?.kind === 'http' && checkTemplates(destination)).toEqual([])
  })

  it('names each variable that is missing', () => {
    const problems = problemsOf(settings(preset))
    const named = problems.map(
      (problem) => /^destinations\[0\]\.\S+ in CONFIG_FILE, from its preset, refers to the variable (\w+),/.exec(problem)?.[1],
    )
    expect(new Set(named)).toEqual(new Set(needs))
  })
})
