import type { Migration } from '../src/store/schema/migration.ts'
import { overview } from './0016-counted-views.ts'
import { OVERVIEW as OPEN_ITEMS } from './0027-open-items.ts'

/**
 * Documents, and what is due to be fetched of them. An existing mirror fills the table by its next reads: carrier originals by the requirements
 * view, the others by a replay of each thread that has some.
 */
export const documents: Migration = {
  version: 28,
  name: 'documents',
  oldestCompatible: 1,
  statements: (t) =>
    [
      `create table documents (
      account text not null, document_key text not null, submission_id text not null, document_id text, origin text, name text, source text,
      source_label text, content_type text, created_at ${t.time}, download_path text, document_url text, size_bytes ${t.int},
      sha256 text, stored_bytes ${t.int}, stored_path text, stored_at ${t.time}, error text, tried_at ${t.time}, gone_at ${t.time},
      primary key (account, document_key))`,
      'create index documents_submission on documents (account, submission_id)',
      'create index documents_stored on documents (stored_at desc, document_key)',
      'create index documents_path on documents (stored_path)',
      'create index documents_failed on documents (error) where error is not null',
      `create table sync_documents (
      account text not null, document_key text not null, due_at ${t.time}, lease_token text, failures ${t.int} not null,
      failing_since ${t.time}, refused_over_bytes ${t.int},
      primary key (account, document_key))`,
      'create index sync_documents_due on sync_documents (account, due_at)',
      'create index sync_documents_leased on sync_documents (lease_token) where lease_token is not null',
      'create index sync_documents_refused on sync_documents (refused_over_bytes) where refused_over_bytes is not null',
      `update sync_reads set replay_due_at = '2000-01-01T00:00:00.000000Z' where read = 'thread' and replay_due_at is not null and exists (
        select 1 from thread_attachments a where a.account = sync_reads.account and a.submission_id = sync_reads.submission_id
          and a.document_key is not null)`,
      t.kind === 'sqlite' ? 'drop view submission_overview' : '',
      `create ${t.kind === 'sqlite' ? '' : 'or replace '}${overview(t, `${OPEN_ITEMS}${OVERVIEW}`)}`,
      documentIndex,
    ].filter((statement) => statement !== ''),
}

const ofSubmission = 'x.account = s.account and x.submission_id = s.submission_id'
const OVERVIEW = `,
      (select count(*) from documents x where ${ofSubmission} and x.stored_at is not null) as documents_held,
      (select count(*) from documents x where ${ofSubmission} and x.stored_at is null and x.gone_at is null) as documents_missing`

const documentIndex = `create view document_index as
    select d.account, nullif(d.submission_id, '') as submission_id, s.insured_name, d.document_key, d.document_id, d.origin, d.name, d.source_label,
      d.content_type, d.created_at,
      case when d.stored_at is not null then 'stored' when d.gone_at is not null then 'gone' when d.error is not null then 'failed'
        else 'waiting' end as state,
      d.stored_path, d.stored_bytes, d.sha256, d.stored_at, d.error, d.tried_at, d.gone_at
    from documents d
    left join submissions s on s.account = d.account and s.submission_id = d.submission_id`
