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
import { json, type Operation } from './operation.ts'

/** "Appetite, market access, policies, insureds." */
export const marketOperations: readonly Operation[] = [
  {
    ...{ method: 'GET', path: '/broker/appetite', operationId: 'getAppetite', tag: 'markets', scope: 'broker_mcp' },
    summary: 'Which markets have appetite',
    query: [
      { name: 'q', required: true, schema: text('What to look for') },
      { name: 'state', schema: text('State') },
      { name: 'lob', schema: text('Line of business') },
    ],
    answer: json(appetiteSchema),
    errors: ['daily_limit', 'invalid_input'],
    notShown: 'The value of the daily limit',
  },
  {
    ...{ method: 'POST', path: '/broker/appetite/search', operationId: 'searchAppetite', tag: 'markets', scope: 'broker_mcp' },
    summary: 'Ranked markets with matched programs and category',
    body: json(appetiteSearchSchema),
    answer: json(appetiteRankingSchema),
    errors: ['daily_limit', 'invalid_input'],
    notShown: 'The answer, and the value of the daily limit',
  },
  {
    ...{ method: 'PUT', path: '/broker/market-access/program-line', operationId: 'setProgramLine', tag: 'markets', scope: 'broker_submit' },
    role: 'admin',
    summary: 'Turns one line of a program on or off',
    body: json(programLineSchema),
    answer: json(marketAccessSchema),
    errors: ['missing_role', 'not_found', 'line_not_listed', 'invalid_input'],
    notShown: 'The answer',
  },
  {
    ...{ method: 'GET', path: '/broker/policies/{policy_id}', operationId: 'getPolicy', tag: 'records', scope: 'broker_mcp' },
    summary: 'A policy',
    answer: json(policySchema),
    errors: ['not_found'],
    notShown: 'The fields of the policy',
  },
  {
    ...{ method: 'GET', path: '/broker/insureds/{insured_id}', operationId: 'getInsured', tag: 'records', scope: 'broker_mcp' },
    summary: 'An insured',
    answer: json(insuredSchema),
    errors: ['not_found'],
    notShown: 'The fields of the insured',
  },
]
