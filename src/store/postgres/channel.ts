import type { Topic } from '../engine/signals.ts'

/** Postgres cuts longer names off, each place in its own way. */
const MAX_NAME_LENGTH = 63

/** @returns the name of the channel on which processes with the same schema notify each other. */
export function channelOf(schema: string): string {
  return `submission_mirror_${schema}`.slice(0, MAX_NAME_LENGTH)
}

/** @returns the topic that a notification is about, or null for one of a later release. */
export function topicOf(payload: string | undefined, topics: readonly Topic[]): Topic | null {
  return topics.find((topic) => topic === payload) ?? null
}
