import type { onRouteHookHandler } from 'fastify'
import { z } from 'zod'
import { record } from '../../output/schema.ts'

/** The body of every refusal (RFC 9457). */
export const problem = record('Problem', {
  title: z.string().describe('what the status means'),
  status: z.int(),
  detail: z.string().describe('one sentence: what is wrong, and what to do'),
  problems: z.array(z.string()).optional().describe('when several things are wrong: all of them'),
  first_seq: z.int().optional().describe('of a 410: the first number that the change log still has'),
  log_epoch: z.string().optional().describe('of a 409: the current log epoch'),
  epoch: z.string().optional().describe('of a 409: the one that was asked about'),
})

export type Problem = z.output<typeof problem>

function refusal(description: string) {
  return { description, content: { 'application/problem+json': { schema: problem } } }
}

const common = {
  400: refusal('the request is not what it should be; `problems` says everything that is wrong'),
  401: refusal('no token or session, a wrong one, or one that has ended'),
  403: refusal('the role of the token does not suffice for this; or with a session, the request comes from a page of another server'),
  408: refusal('the request did not arrive in time'),
  421: {
    description: 'the name in the Host header is not this server’s: set OPS_PUBLIC_URL if that is its address',
    content: { 'text/plain': { schema: z.string() } },
  },
  429: refusal('too many wrong tokens from this address; a good one is never refused for it'),
  431: refusal('the path and the headers are too long'),
  503: refusal('the database, or the storage of documents, cannot be used now; try again after `Retry-After`'),
}
const notThere = refusal('there is no such thing')
const notNow = refusal('as things are now this cannot be done')
const notAnyMore = refusal('it was there, and is no longer kept')
const unfit = refusal('well formed, but it does not fit the settings')

/** The answers of a route: success, and the refusals that every route has. */
export function answers<T extends z.ZodType>(description: string, schema: T) {
  return { 200: { description, content: { 'application/json': { schema } } }, ...common }
}

/** The answers of a route that has nothing to say when it succeeds. */
export function done(description: string) {
  return { 204: z.undefined().describe(description), ...common }
}

/** The answers of a route that tells of events as they happen. */
export function events(description: string) {
  return { 200: { description, content: { 'text/event-stream': { schema: z.string() } } }, ...common }
}

/** The answers of a route about something that may not exist. */
export function answersAbout<T extends z.ZodType>(description: string, schema: T) {
  return { ...answers(description, schema), 404: notThere }
}

/** As `answersAbout`, for what goes on from an earlier answer. */
export function answersSince<T extends z.ZodType>(description: string, schema: T) {
  return { ...answersAbout(description, schema), 409: notNow, 410: notAnyMore }
}

/** The answers of an action. */
export function answersOfAction<T extends z.ZodType>(description: string, schema: T) {
  return {
    ...answersAbout(description, schema),
    409: notNow,
    422: unfit,
  }
}

const longPart = { 414: refusal('a part of the path is too long') }
const unreadableBody = { 413: refusal('the body is too large'), 415: refusal('not a content type that is read here') }

/** Adds to the answers of each route what it refuses for the form of its path or its body. */
export const describeForms: onRouteHookHandler = (route) => {
  const isRead = route.method === 'GET' || route.method === 'HEAD'
  const forms = { ...(route.url.includes(':') && longPart), ...(!isRead && unreadableBody) }
  route.schema = { ...route.schema, response: { ...(route.schema?.response as object | undefined), ...forms } }
}

/** As `answersAbout`, for bytes. */
export function fileAbout(description: string) {
  const content = { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } }
  return { 200: { description, content }, ...common, 404: notThere, 409: notNow }
}

/** As `answersAbout`, for a table. */
export function csvAbout(description: string) {
  return { 200: { description, content: { 'text/csv': { schema: z.string() } } }, ...common, 404: notThere }
}

/** As `answersAbout`, for a page. */
export function htmlAbout(description: string) {
  return { 200: { description, content: { 'text/html': { schema: z.string() } } }, ...common, 404: notThere }
}
