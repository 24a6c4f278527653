import { z } from 'zod'
import { items, secret, section, time, value } from './builders.ts'
import { checkOrder, checkTokens } from './cross-checks.ts'
import { roles } from './roles.ts'
import { anySecret, flag, invalid, isLoopback, listenHost, matching, number, ok, oneOf, type Parsed, publicUrl } from './values.ts'

export const host = value(listenHost)
export const port = value(number(0, 65_535))

/**
 * Splits a text with items `name:token[:role]` at white space. A token may contain colons. Text after the last colon is
 * a role only if it is a known role.
 */
function tokenPairs(text: string): unknown[] {
  return text
    .split(/\s+/)
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [, named = '', role] = /^(.*?)(?::(viewer|operator|admin))?$/.exec(pair) ?? []
      const colon = named.indexOf(':')
      return { name: named.slice(0, Math.max(colon, 0)), token: named.slice(colon + 1), ...(role !== undefined && { role }) }
    })
}

const line = matching(/^[^\p{Cc}]{1,200}$/u, 'must be one line of at most 200 characters')

/** Parses the provider's issuer URL. Keeps the URL exactly as the provider writes it, including a slash at the end. */
function issuer(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || /[?#]/.test(text) || url.username !== '' || url.password !== '')
    return invalid('must be the https URL of a provider, such as https://login.example.com, as the provider writes it')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return invalid('must use https; http is only for a provider on this machine')
  return ok(text)
}

const oidcSchema = section({
  issuer: value(issuer, 'is missing; set it to the URL of the provider'),
  client_id: value(line, 'is missing; set it to the client id from the provider'),
  client_secret: secret(anySecret, 'is missing; set it, as a reference'),
  name: value(line).prefault('OpenID Connect'),
  claim: value(matching(/^[\x21-\x7e]{1,200}$/, 'must be the name of a claim')).prefault('groups'),
  scope: value(matching(/^openid(?: [\x21-\x7e]+){0,20}$/, 'must be words separated by spaces, beginning with openid')).prefault(
    'openid profile email',
  ),
  roles: z
    .record(z.string().min(1).max(200), value(oneOf(roles)), {
      error: (issue) => (issue.input === undefined ? 'is missing; map values of the claim to roles' : 'must hold values and roles'),
    })
    .refine((given) => Object.keys(given).length > 0, 'must hold at least one value of the claim with its role')
    .refine((given) => Object.keys(given).length <= 100, 'must not hold more than 100'),
})

const tokens = items(
  section({
    name: value(matching(/^[A-Za-z0-9][\w.-]{0,62}$/, 'must be name:token; the name may have letters, digits, _, . and -')),
    token: secret(
      matching(/^[\x21-\x7e]{16,512}$/, 'must have a token of 16 to 512 characters of ASCII, without spaces'),
      'is missing; set it',
    ),
    role: value(oneOf(roles)).prefault('admin'),
  }),
  100,
  tokenPairs,
)

export const opsSchema = section({
  host: host.prefault('127.0.0.1').meta({
    env: 'OPS_HOST',
    shown: '`127.0.0.1` (`0.0.0.0` in the image)',
    description: 'address of health, metrics and [admin routes](../docker/http-api.md)',
  }),
  port: port.prefault(8081).meta({ env: 'OPS_PORT', description: 'port of health, metrics and admin routes; must differ from `PORT`' }),
  tokens: tokens.check(checkTokens).prefault([]).meta({
    env: 'OPS_TOKENS',
    file: true,
    description:
      '`name:token[:role]`, separated by spaces, or a list; tokens of 16 to 512 characters; [role](../docker/security.md#give-people-access) `viewer`, `operator` or `admin` (default). Without tokens and `ops.oidc` there are no admin routes',
  }),
  public_url: value(publicUrl).optional().meta({
    env: 'OPS_PUBLIC_URL',
    description:
      'public URL of this port behind a proxy. Sign-in and cookies use it, regardless of the `Host` that the proxy sends. The console and the API reject a `Host` other than this, loopback and the own address (421)',
  }),
  session_idle: time('1m', '30d').prefault('30m').meta({
    env: 'OPS_SESSION_IDLE',
    description: 'how long a [session](../docker/http-api.md) lasts without a request; 1m to 30d',
  }),
  session_max: time('1m', '30d')
    .prefault('12h')
    .meta({ env: 'OPS_SESSION_MAX', description: 'how long a session lasts in total; 1m to 30d' }),
  mcp_actions: value(flag).prefault(false).meta({
    env: 'OPS_MCP_ACTIONS',
    description:
      'whether [an assistant](../docker/assistants.md) whose token has the role `operator` may also sync, replay, retry and reconcile',
  }),
  oidc: oidcSchema.optional().meta({
    description:
      'an OpenID Connect provider for [signing in](../docker/security.md#set-up-single-sign-on) to the console, in addition to tokens or instead of them',
  }),
}).check(checkOrder('ops', ['session_idle', 'session_max']))
