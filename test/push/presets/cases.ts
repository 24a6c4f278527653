import { startAgencyZoom } from '../../emulators/agencyzoom.ts'
import { type EpicEmulator, startEpic } from '../../emulators/applied-epic.ts'
import { startDataverse } from '../../emulators/dataverse.ts'
import { startEzLynx } from '../../emulators/ezlynx.ts'
import { type HawkSoftEmulator, startHawkSoft } from '../../emulators/hawksoft.ts'
import { startHubSpot } from '../../emulators/hubspot.ts'
import { startNowCerts } from '../../emulators/nowcerts.ts'
import { startSalesforce } from '../../emulators/salesforce.ts'
import { uuid } from '../../tools/observations.ts'
import type { NotesCase } from './notes-suite.ts'

export const EPIC_ENV = {
  EPIC_CLIENT_ID: 'the-key',
  EPIC_CLIENT_SECRET: 'the-secret',
  EPIC_ACTIVITY_CODE_ID: 'code-1',
  EPIC_AGENCY_ID: 'agency-1',
  EPIC_BRANCH_ID: 'branch-1',
  EPIC_ACCESS_LEVEL_ID: 'level-1',
}

/** Applied Epic as `EPIC_ENV` describes it, with the clients c-1 and c-2, of whom the latter has the policy p-7. */
export function startTestEpic(): Promise<EpicEmulator> {
  return startEpic({
    clientId: 'the-key',
    clientSecret: 'the-secret',
    audience: 'api.myappliedproducts.com/epic',
    clients: ['c-1', 'c-2'],
    policies: { 'p-7': 'c-2' },
    codes: ['code-1'],
    accessLevels: ['level-1'],
    agencies: ['agency-1'],
    branches: ['branch-1'],
    today: new Date().toISOString().slice(0, 10),
  })
}

export function epicWhere({ url, tokenUrl }: EpicEmulator, auth = ''): string {
  return `settings: { base_url: "${url}" }, auth: { token_url: "${tokenUrl}", ${auth} }`
}

export const HAWKSOFT_ENV = { HAWKSOFT_USER: 'vendor', HAWKSOFT_PASSWORD: 'the-secret', HAWKSOFT_AGENCY_ID: '17' }

export function startTestHawkSoft(): Promise<HawkSoftEmulator> {
  return startHawkSoft({ user: 'vendor', password: 'the-secret', agency: '17', clients: ['4711'] })
}

/** The presets that make a note of each change, with their emulators. */

export const agencyzoom: NotesCase<Awaited<ReturnType<typeof startAgencyZoom>>> = {
  preset: 'agencyzoom',
  env: { AGENCYZOOM_USERNAME: 'mirror', AGENCYZOOM_PASSWORD: 'the-password' },
  start: () => startAgencyZoom({ username: 'mirror', password: 'the-password', customers: ['4711'] }),
  where: ({ url }) => `settings: { base_url: "${url}/v1/api", pause_seconds: 0.2 }`,
  client: '4711',
  stranger: '4712',
  hasTokens: true,
}

export const dataverse: NotesCase<Awaited<ReturnType<typeof startDataverse>>> = {
  preset: 'dataverse',
  env: {
    DATAVERSE_HOST: 'acme.crm.dynamics.com',
    DATAVERSE_TENANT: 'the-tenant',
    DATAVERSE_CLIENT_ID: 'the-app',
    DATAVERSE_CLIENT_SECRET: 'the-secret',
  },
  start: () =>
    startDataverse({
      clientId: 'the-app',
      clientSecret: 'the-secret',
      scope: 'https://acme.crm.dynamics.com/.default',
      accounts: [uuid(20, 1)],
    }),
  where: ({ url }) => `settings: { base_url: "${url}" }, auth: { token_url: "${url}/the-tenant/oauth2/v2.0/token" }`,
  client: uuid(20, 1),
  stranger: uuid(20, 2),
  hasTokens: true,
}

export const ezlynx: NotesCase<Awaited<ReturnType<typeof startEzLynx>>> = {
  preset: 'ezlynx',
  env: {
    EZLYNX_CLIENT_ID: 'mirror',
    EZLYNX_CLIENT_SECRET: 'the-client-secret',
    EZLYNX_USERNAME: 'agent',
    EZLYNX_INTEGRATION_GROUP_ID: '159',
    EZLYNX_SCOPE: 'DiscussionApi',
  },
  start: () =>
    startEzLynx({
      clientId: 'mirror',
      clientSecret: 'the-client-secret',
      username: 'agent',
      integrationGroupId: '159',
      discussions: { 'discussion-1': '55012345' },
    }),
  where: ({ url }) => `settings: { base_url: "${url}/DiscussionApi", token_url: "${url}/auth/connect/token" }`,
  client: '55012345',
  stranger: '55099999',
  fields: (client) => ({ discussion: client === '55012345' ? 'discussion-1' : 'discussion-9' }),
  hasTokens: true,
}

export const hubspot: NotesCase<Awaited<ReturnType<typeof startHubSpot>>> = {
  preset: 'hubspot',
  env: { HUBSPOT_TOKEN: 'pat-na1-the-token-of-the-app' },
  start: () => startHubSpot({ token: 'pat-na1-the-token-of-the-app', companies: ['4711'] }),
  where: ({ url }) => `settings: { base_url: "${url}", pause_seconds: 0.2 }`,
  client: '4711',
  stranger: '4712',
  hasTokens: false,
}

export const nowcerts: NotesCase<Awaited<ReturnType<typeof startNowCerts>>> = {
  preset: 'nowcerts',
  env: { NOWCERTS_USERNAME: 'mirror', NOWCERTS_PASSWORD: 'the-password', PROTECT_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` },
  start: () => startNowCerts({ username: 'mirror', password: 'the-password', insureds: [uuid(20, 1)] }),
  where: ({ url }) => `settings: { base_url: "${url}/api" }, auth: { token_url: "${url}/api/token" }`,
  client: uuid(20, 1),
  stranger: uuid(20, 2),
  hasTokens: true,
}

export const salesforce: NotesCase<Awaited<ReturnType<typeof startSalesforce>>> = {
  preset: 'salesforce',
  env: { SALESFORCE_HOST: 'acme.my.salesforce.com', SALESFORCE_CLIENT_ID: 'the-app', SALESFORCE_CLIENT_SECRET: 'the-secret' },
  start: () => startSalesforce({ clientId: 'the-app', clientSecret: 'the-secret', accounts: ['001000000000001AAA'] }),
  where: ({ url }) =>
    `settings: { base_url: "${url}", pause_seconds: 0.2, lock_seconds: 0.1 }, auth: { token_url: "${url}/services/oauth2/token" }`,
  client: '001000000000001AAA',
  stranger: '001000000000002AAA',
  hasTokens: true,
}
