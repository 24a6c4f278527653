import { z } from 'zod'
import { secret, section, value } from './builders.ts'
import { roles } from './roles.ts'
import { anySecret, invalid, isLoopback, matching, ok, oneOf, type Parsed } from './values.ts'

const line = matching(/^[^\p{Cc}]{1,200}$/u, 'must be one line of at most 200 characters')

/** As the provider writes itself: a slash at its end counts. */
function issuer(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || /[?#]/.test(text) || url.username !== '' || url.password !== '')
    return invalid('must be the https URL of a provider, such as https://login.example.com, as the provider writes it')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return invalid('must use https; http is only for a provider on this machine')
  return ok(text)
}

/** A provider of OpenID Connect by which people sign in. */
export const oidcSchema = section({
  issuer: value(issuer, 'is missing; set it to the URL of the provider'),
  client_id: value(line, 'is missing; set it to the id that the provider gave this program'),
  client_secret: secret(anySecret, 'is missing; set it, as a reference'),
  name: value(line).prefault('OpenID Connect'),
  claim: value(matching(/^[\x21-\x7e]{1,200}$/, 'must be the name of a claim')).prefault('groups'),
  scope: value(matching(/^openid(?: [\x21-\x7e]+){0,20}$/, 'must be words separated by spaces, of which openid is the first')).prefault(
    'openid profile email',
  ),
  roles: z
    .record(z.string().min(1).max(200), value(oneOf(roles)), {
      error: (issue) =>
        issue.input === undefined ? 'is missing; set which value of the claim gives which role' : 'must hold values and roles',
    })
    .refine((given) => Object.keys(given).length > 0, 'must hold at least one value of the claim with its role')
    .refine((given) => Object.keys(given).length <= 100, 'must not hold more than 100'),
})
