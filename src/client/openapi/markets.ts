import {
  appetiteRankingSchema,
  appetiteSchema,
  appetiteSearchSchema,
  insuredSchema,
  marketAccessSchema,
  policySchema,
  programLineSchema,
} from '../schemas/appetite.ts'
import { text } from '../schemas/fields.ts'
import { type Endpoint, get, json, post, put } from './operation.ts'

/** "Appetite, market access, policies, insureds." */
export const marketOperations: readonly Endpoint[] = [
  get('/broker/appetite', 'getAppetite', {
    summary: 'Which markets have appetite',
    query: [
      { name: 'q', required: true, schema: text('What to look for') },
      { name: 'state', schema: text('State') },
      { name: 'lob', schema: text('Line of business') },
    ],
    answer: json(appetiteSchema),
    errors: ['daily_limit', 'invalid_input'],
    notShown: 'The value of the daily limit',
  }),
  post('/broker/appetite/search', 'searchAppetite', {
    scope: 'broker_mcp',
    summary: 'Ranked markets with matched programs and category',
    body: json(appetiteSearchSchema),
    answer: json(appetiteRankingSchema),
    errors: ['daily_limit', 'invalid_input'],
    notShown: 'The answer, and the value of the daily limit',
  }),
  put('/broker/market-access/program-line', 'setProgramLine', {
    role: 'admin',
    summary: 'Turns one line of a program on or off',
    body: json(programLineSchema),
    answer: json(marketAccessSchema),
    errors: ['missing_role', 'not_found', 'line_not_listed', 'invalid_input'],
    notShown: 'The answer',
  }),
]

/** Policies and insureds. */
export const recordOperations: readonly Endpoint[] = [
  get('/broker/policies/{policy_id}', 'getPolicy', {
    summary: 'A policy',
    answer: json(policySchema),
    errors: ['not_found'],
    notShown: 'The fields of the policy',
  }),
  get('/broker/insureds/{insured_id}', 'getInsured', {
    summary: 'An insured',
    answer: json(insuredSchema),
    errors: ['not_found'],
    notShown: 'The fields of the insured',
  }),
]
