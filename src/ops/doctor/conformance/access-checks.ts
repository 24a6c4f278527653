import { randomUUID } from 'node:crypto'
import { validationErrorSchema } from '../../../client/schemas/errors.ts'
import { identitySchema } from '../../../client/schemas/identity.ts'
import { metadataSchema, tokenSchema } from '../../../client/schemas/oauth.ts'
import { isObject } from '../../../model/json.ts'
import { parseJson } from '../../../upstream/http/answer.ts'
import { readIdentity } from '../../../upstream/wire/answers.ts'
import { count, type Desk, refusalOf, refusedAs } from './desk.ts'
import { agrees, compare, differs, judged, untold, type Verdict } from './verdict.ts'

const METADATA = '/oauth/.well-known/oauth-authorization-server'
/** "Listing token, authorization, device authorization and registration endpoints, supported grant types and scopes." */
const METADATA_FIELDS = [
  'token_endpoint',
  'authorization_endpoint',
  'device_authorization_endpoint',
  'registration_endpoint',
  'grant_types_supported',
  'scopes_supported',
]
const HOUR_S = 3_600
/** A lifetime may be told in whole seconds, and counted from a moment earlier. */
const ABOUT_S = 60

/** The rows of authentication and identity that can be told by reading. */
export const accessChecks: Readonly<Record<string, (desk: Desk) => Promise<Verdict>>> = {
  'endpoint.getMetadata': metadata,
  'endpoint.exchangeToken': async ({ service }) => judged(compare(tokenSchema, service.granted), 'a token was given for the credentials'),
  'endpoint.getIdentity': identity,
  'error.validation': validation,
  'error.not_found': notFound,
  'limit.token': tokenLifetime,
  'authentication.bearer': bearer,
  'authentication.lifetime': async ({ service }) =>
    isObject(service.granted) && 'refresh_token' in service.granted
      ? differs('the machine credential was given a refresh token')
      : agrees("the machine credential got no refresh token; their rotation needs a person's sign-in"),
  'authentication.read_scope': readScope,
  'authentication.machine': machine,
}

async function metadata({ service }: Desk): Promise<Verdict> {
  const answer = await service.get(METADATA, {}, false)
  const refused = refusalOf(answer)
  if (refused !== null) return differs(refused)
  const { problems, more } = compare(metadataSchema, answer.json)
  const absent = isObject(answer.json) ? METADATA_FIELDS.filter((name) => !Object.hasOwn(answer.json as object, name)) : []
  return judged(
    { problems: [...problems, ...absent.map((name) => `${name} is missing`)], more },
    'endpoints, grant types and scopes are listed',
  )
}

async function identity({ service }: Desk): Promise<Verdict> {
  const answer = await service.get('/broker/me')
  const refused = refusalOf(answer)
  if (refused !== null) return differs(refused)
  const { problems, more } = compare(identitySchema, answer.json)
  const read = readIdentity(answer.json)
  if (read === null) return differs('the answer has no kind or no brokerage', more)
  const kind = read.kind === 'api_client' ? [] : [`kind is not api_client, though the credential is a machine's`]
  return judged({ problems: [...problems, ...kind], more }, 'an api_client of a brokerage')
}

/** An exchange without a grant type changes nothing. */
async function validation({ service }: Desk): Promise<Verdict> {
  const answer = await service.exchange({})
  if (answer.status !== 422) return differs(`a token request without grant_type was answered ${answer.status}, not 422`)
  return judged(compare(validationErrorSchema, answer.json), 'a token request without grant_type is answered 422 with a list')
}

async function notFound({ service }: Desk): Promise<Verdict> {
  const nobodys = randomUUID()
  const paths = [`submissions/${nobodys}/requirements`, `submissions/${nobodys}/events`, `policies/${nobodys}`, `insureds/${nobodys}`]
  const wrong: string[] = []
  for (const path of paths) {
    const { status } = await service.get(`/broker/${path}`)
    if (status !== 404) wrong.push(`/broker/${path.replace(nobodys, '{unknown id}')} was answered ${status}, not 404`)
  }
  return wrong.length > 0 ? differs(wrong.join('; ')) : agrees(`${count(paths.length, 'read')} with an unknown id are answered 404`)
}

async function tokenLifetime({ service }: Desk): Promise<Verdict> {
  const { access_token: token, expires_in: told } = isObject(service.granted) ? service.granted : {}
  const claims = typeof token === 'string' ? parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) : null
  const { exp, iat } = isObject(claims) ? claims : {}
  const signed = typeof exp === 'number' && typeof iat === 'number' ? exp - iat : null
  const seconds = signed ?? (told === undefined ? null : Number(told))
  if (seconds === null || !Number.isFinite(seconds)) return untold('neither the token nor its answer says how long it lives')
  const text = `the token lives ${Math.round(seconds / 60)} minutes, as ${signed === null ? 'its answer says' : 'it says itself'}`
  return Math.abs(seconds - HOUR_S) <= ABOUT_S ? agrees(text) : differs(`${text}, not 60`)
}

async function bearer({ service }: Desk): Promise<Verdict> {
  const answers = [await service.get('/broker/me', {}, false), await service.get(`/broker/policies/${randomUUID()}`, {}, false)]
  return refusedAs(answers, 'a read without a token')
}

async function readScope(desk: Desk): Promise<Verdict> {
  const { scopes } = readIdentity((await desk.service.get('/broker/me')).json) ?? {}
  if (scopes === undefined) return untold('GET /broker/me does not tell the granted scopes')
  if (!scopes.some((scope) => scope === 'broker_mcp' || scope === 'broker_submit'))
    return differs('the token reads without a scope to read')
  const [id] = await desk.submissions()
  const { status } = await desk.service.get(`/broker/submissions/${id}/requirements`)
  if (status === 404) return untold('the submission that is known here is not found')
  return status === 200
    ? agrees(`a token with ${scopes.join(' ')} reads`)
    : differs(`a token with ${scopes.join(' ')} was answered ${status}`)
}

async function machine({ service }: Desk): Promise<Verdict> {
  const { credential } = service
  if (credential === null) return untold('no credential was taken')
  if (!credential.id.startsWith('bac_') || !credential.secret.reveal().startsWith('bas_')) {
    return differs('the id of the credential does not begin with bac_, or its secret not with bas_')
  }
  const told = readIdentity((await service.get('/broker/me')).json)?.clientId ?? null
  if (told !== null && told !== credential.id) return differs('GET /broker/me names another client_id')
  return agrees('bac_ and bas_ are exchanged for a token; that scopes are a ceiling needs a second key')
}
