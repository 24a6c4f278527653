// `node test/tools/console-api.ts` writes this file, of what GET /api/v1/openapi.json answers: change the routes instead.

export interface paths {
    "/api/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list the accounts: state, brokerage, when each credential got a token last, and when each webhook secret verified a delivery last */
        get: operations["getAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts/{name}/completeness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** tell how complete the mirror of each submission of an account is, by their ids */
        get: operations["getAccountsByNameCompleteness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** let a parked or paused account try at once instead of at its time */
        post: operations["postAccountsByNameResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list what operators did, at the terminal, over HTTP and by assistants, the newest first */
        get: operations["getActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list the alarms that fire, and which operators could not be told */
        get: operations["getAlarms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alarms/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * take note of an alarm that fires: it says by whom and when, and goes on to fire and to be told
         * @description When it is over and fires again, nobody has taken note of that.
         */
        post: operations["postAlarmsAcknowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alarms/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list when alarms fired and ended, the newest first
         * @description What is over is kept for `CHANGES_RETENTION_DAYS`.
         */
        get: operations["getAlarmsHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alarms/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** send a test message to operators, and tell what came of it */
        post: operations["postAlarmsTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * make a consistent copy of the SQLite database while it is worked on, and verify it
         * @description The copy gets its name when it is whole and verified. It takes as long as the file is large.
         */
        post: operations["postBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list the rows of the change log, in order
         * @description What changed in which table of which submission. A reader goes on with the `seq` of the last change that it has as `after`, and gives the `log_epoch` that it read it under as `epoch`: after a restore the log has another, and the reader starts over. With a filter a page may be short, or empty; the list ends when `next_cursor` is null.
         */
        get: operations["getChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/completeness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** tell how complete the mirror is, by account, and what nobody can say */
        get: operations["getCompleteness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/coverage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** say what is mirrored and how fresh, read by read, and what the service gives no way to find */
        get: operations["getCoverage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list the destinations, their state, and what waits for them */
        get: operations["getDestinations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/mappings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list which client of the AMS submissions belong to, by account and submission */
        get: operations["getDestinationsByNameMappings"];
        put?: never;
        /**
         * say which client of the AMS submissions belong to; what waited for that goes out
         * @description The first line of a CSV names the columns: `submission_id` and `client`, and maybe `account`, `policy` and others. One wrong row, and nothing is stored.
         */
        post: operations["postDestinationsByNameMappings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/mappings.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * say which client of the AMS submissions belong to; what waited for that goes out: all rows of a CSV
         * @description The first line of a CSV names the columns: `submission_id` and `client`, and maybe `account`, `policy` and others. One wrong row, and nothing is stored.
         */
        post: operations["postDestinationsByNameMappingsCsv"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** send nothing to a destination any more; its changes are queued all the same */
        post: operations["postDestinationsByNamePause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * send changes again that a destination lost, in their order, behind what waits
         * @description Interrupted, the same request within a day goes on with the rest.
         */
        post: operations["postDestinationsByNameResend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** let a paused, parked or disabled destination go on, end its rest, and try now what failed before */
        post: operations["postDestinationsByNameResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** make one harmless try, and tell what came of it */
        post: operations["postDestinationsByNameTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/destinations/{name}/unmapped": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list the submissions whose changes wait for a client of the AMS, by account and id */
        get: operations["getDestinationsByNameUnmapped"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * look whether everything works: database, accounts, the way of the deliveries, destinations
         * @description Each destination gets one harmless try, and the public address, where there is one, a signed delivery. It can take a minute.
         */
        post: operations["postDoctor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list documents, with where their files are or why they are missing */
        get: operations["getDocuments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * the file of a document
         * @description Who took it is noted in `operator_actions`.
         */
        get: operations["getDocumentsByKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/documents/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * look whether the file of every stored document is there; exit code 1 when one is not
         * @description By its length: a file that was damaged and kept it is not found.
         */
        post: operations["postDocumentsCheck"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/found-without-webhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list the newest events and messages that a reading of the feeds found, and of which no webhook has told
         * @description Of each account the newest 1,000 that a reading showed first are looked at.
         */
        get: operations["getFoundWithoutWebhook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * tell what happened over the last hour, day, week or month, in steps
         * @description Every process writes once a minute what it counted, so this covers all of them and outlives restarts. A process that is killed takes what it counted since it last wrote, a minute at most; what was stored and applied is not touched by that.
         */
        get: operations["getHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list stored deliveries, the newest first
         * @description Without headers and bodies: `done` was applied, `dead` and `aside` were not. With `kind` or `text` it looks through some thousands at a time: a page may hold fewer than `limit`, even none, and there is a next one.
         */
        get: operations["getInbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * show a delivery with its headers and body
         * @description The same svix-id may have come to several accounts, so this is a list. Who saw it is noted in `operator_actions`.
         */
        get: operations["getInboxById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list what deliveries became: the changes that webhooks made to their submission between their arrival and their settling
         * @description For each delivery of that id at most 200. Another delivery of the same submission in that time is among them; no row notes which delivery changed it.
         */
        get: operations["getInboxByIdChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * work stored deliveries again, whatever became of them
         * @description Those of `ids`, or all that a filter finds as the list of deliveries does. Ask with `dry_run` first, which tells how many.
         */
        post: operations["postInboxReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * give dead deliveries up: they are set aside, and nobody is told of them any more
         * @description Retention takes them in its time. Until then they can be replayed.
         */
        post: operations["postInboxSkip"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/interface-drift": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list fields, values and types that the specification does not name, and required fields that are missing
         * @description Where, of which type and how often, never a value; those first seen lately first. At most 1,000 an account.
         */
        get: operations["getInterfaceDrift"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * what happens, as it happens: server-sent events
         * @description Events `delivery`, `change`, `push`, `run`, `alarm` and `overview`, with ids and states as JSON, never bodies or personal values. Each has an id: sent back as `Last-Event-ID`, one goes on behind it. `ready`: nothing was missed. `reset`: events are missing, because the id is too old or of another process, or because more happened than is told of; look again at whatever is shown. 50 may listen to a process (503 then); who does not read is cut off. It ends with the token or session.
         */
        get: operations["getLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/open-items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list what the broker must still supply, submission by submission
         * @description Outstanding items, what a market needs, assumptions to confirm and contingencies of a bind. A page may be short, or empty; the list ends when `next_cursor` is null.
         */
        get: operations["getOpenItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** this description, as OpenAPI */
        get: operations["getOpenapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list changes on their way to destinations, or sent, the newest first */
        get: operations["getOutbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * show all that is known of a change on its way
         * @description The same message may be on its way to several destinations, so this is a list. With what was answered: who saw it is noted.
         */
        get: operations["getOutboxById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/{id}/exchange": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * show what a destination is sent of a change, and what it answered last
         * @description Without secrets; personal values are masked, and columns that the destination is not sent are left out. The answer may repeat anything: who saw it is noted.
         */
        get: operations["getOutboxByIdExchange"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** try changes again now */
        post: operations["postOutboxRetry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outbox/skip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** give changes up for good, so that what waits behind them goes on */
        post: operations["postOutboxSkip"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * say whether the mirror is complete and fresh, and what needs a person, with the request that mends it
         * @description The sentence is the one that `status` prints first. Cheap enough to be asked every few seconds.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list the processes that work on the database now, the oldest first */
        get: operations["getProcesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quotes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list the quotes that are not gone, submission by submission, of each the lowest first
         * @description `total_cents` is the number to compare (US dollars × 100); `premium_display` is only to show. `may_be_superseded` is true when a revision was first seen later, `is_bound_quote` when the lane is bound at this quote; null: it cannot be told. A page may be short, or empty; the list ends when `next_cursor` is null.
         */
        get: operations["getQuotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list runs, the newest first */
        get: operations["getReconcileRuns"];
        put?: never;
        /**
         * ask for a reconcile run: a process that works takes it up
         * @description It reads submissions anew from the service, compares, and corrects what differs; a dry run only reports. Each account has a run of its own.
         */
        post: operations["postReconcileRuns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** show a run */
        get: operations["getReconcileRunsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list what a run found, in the order in which it was found
         * @description Personal values are masked on both sides; `GET /api/v1/rows/reconcile_findings/{key}` shows them, and notes it.
         */
        get: operations["getReconcileRunsByIdFindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}/report.html": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * the report of a run, as a page of its own
         * @description It holds personal values: who saw it is noted in `operator_actions`.
         */
        get: operations["getReconcileRunsByIdReportHtml"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reconcile-runs/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * end a run that waits or is in progress; what it found and repaired stays
         * @description The process that works on it notices within some seconds.
         */
        post: operations["postReconcileRunsByIdStop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list deliveries that were refused, with the reason, the newest first */
        get: operations["getRejected"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * show a refused delivery with its headers and body
         * @description Who saw it is noted in `operator_actions`.
         */
        get: operations["getRejectedById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected/reasons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list why deliveries were refused: how many of those that are kept, by reason */
        get: operations["getRejectedReasons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rejected/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * verify refused deliveries again, after a secret was mended
         * @description Those that verify now are stored and worked, their time judged by when they came.
         */
        post: operations["postRejectedReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * read the settings again and go by them: secrets, destinations, timetables
         * @description All or nothing: with one thing wrong nothing changes (422), and `problems` says what is wrong. It is about this process alone.
         */
        post: operations["postReload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/retention/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * say what the next turn of retention removes and why it waits; with `confirm` let it take place
         * @description At the terminal a confirmed turn runs at once; else the process that runs retention begins it within five minutes.
         */
        post: operations["postRetentionRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rows/{table}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * show one row whole: personal values as they are, and the object of the service
         * @description Who saw it by HTTP is noted in `operator_actions`. Values that `PROTECT` dropped or encrypted stay as they are stored. `key` is the `row_key` of a list: the parts of the table's key in their order, each percent-encoded, with `/` between them; in a path the whole is encoded once more as one part (`default%2F5f0c…`).
         */
        get: operations["getRowsByTableByKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * find submissions, deliveries and pushes by id or name, at most 20
         * @description Submissions by what words of the insured's name begin with, by the beginning of their id or of a market's name, or by the status of a lane; deliveries by their whole svix-id or number, pushes by their whole message id or number.
         */
        get: operations["getSearch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** who one is, and what one may */
        get: operations["getSession"];
        put?: never;
        /** sign in with a token: the answer sets the cookie of a session */
        post: operations["postSession"];
        /** sign out: the session ends */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** how one may sign in */
        get: operations["getSessionMethods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** list the settings that this process goes by, without secrets */
        get: operations["getSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * say whether the mirror is complete and fresh, what needs a person, and how it is in numbers
         * @description Accounts, reads, freshness, inbox, change log, destinations. On a large database this takes a moment.
         */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list submissions with where each stands, the one that moved last first
         * @description With its lanes, its best quote and what is outstanding; what else is asked of one takes its `account` and `submission_id`. Paged by key: a submission that stays in its place is shown once, however many are added meanwhile.
         */
        get: operations["getSubmissions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/{account}/{submission_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * show everything that is mirrored of a submission, how fresh it is, and its last proof
         * @description Lanes, quotes, requirements, what is outstanding, applications, bind requests and documents, without the objects of the service; its timeline tells of the rest. Personal values are masked but at the terminal: `GET /api/v1/rows/{table}/{key}` shows a row whole.
         */
        get: operations["getSubmissionsByAccountBySubmissionId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/{account}/{submission_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * list what happened in a submission, the newest first: events, messages, changes of its state, pushes
         * @description Each with when it happened, how and when it became known, and which destination got it when. Pushes are shown for as long as retention keeps them.
         */
        get: operations["getSubmissionsByAccountBySubmissionIdTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * remove everything that is kept of submissions, and do not track them again
         * @description The answer comes at the end; what is broken off is repeated, and goes on.
         */
        post: operations["postSubmissionsPurge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * have submissions read from the service now, feeds and state
         * @description The answer comes at once; the process that polls reads them, feeds from the beginning unless `replay` is false, within the rate of the account. What failed before keeps its time. The view `freshness` tells when each was read.
         */
        post: operations["postSubmissionsSync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/submissions/track": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** make submissions known: their feeds are read from the beginning and kept up to date */
        post: operations["postSubmissionsTrack"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Account: {
            account: string;
            /** @description the brokerage that its credentials were found to belong to */
            brokerage: string | null;
            client_id: string | null;
            /** @description in the order of the settings; in use is the one that the service last took; and when it last gave a token for each */
            readonly credentials: {
                client_id: string;
                is_in_use: boolean;
                last_token_at: string | null;
            }[];
            reason: string | null;
            /** @description when it asks the service again by itself */
            retry_at: string | null;
            since: string | null;
            /** @enum {string} */
            state: "active" | "paused" | "parked" | "not configured" | "not started";
            /** @description when each, in the order of the settings, verified a delivery last */
            readonly webhook_secrets: {
                last_verified_at: string | null;
                position: number;
            }[];
        };
        /** @description a row of the view account_completeness */
        AccountCompleteness: {
            account: string;
            lag_seconds: number;
            lost_webhooks: number;
            never_read: number;
            oldest_proof_at: string | null;
            /** @description submissions that a reconcile run has found, or made, equal to the service */
            proven: number;
            submissions: number;
            unreachable: number;
            webhook_loss_ratio: number | null;
        } & {
            [key: string]: unknown;
        };
        AccountResumed: {
            account: string;
            /** @description whether a process runs that tries now */
            at_once: boolean;
            /** @description why it was so */
            reason: string | null;
            /** @description false: it was active, and there was nothing to resume */
            resumed: boolean;
            /** @enum {string} */
            was: "active" | "paused" | "parked" | "not configured" | "not started";
        };
        Acknowledged: {
            /** @description of how many nobody had taken note */
            acknowledged: number;
            /** @description of how many somebody had */
            already: number;
        };
        Action: {
            action: string;
            action_id: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            at: string;
            detail: {
                [key: string]: unknown;
            };
            /**
             * @description `begun`: under way, or its process died meanwhile
             * @enum {string}
             */
            outcome: "begun" | "done" | "failed";
            target: string | null;
            /** @description the name of a token, `command`, or `signal` */
            who: string;
        };
        Alarm: {
            /** @description empty when it is about no account */
            account: string;
            acknowledged_at: string | null;
            /** @description who took note of it; null: nobody */
            acknowledged_by: string | null;
            /** @description empty when it is about no destination */
            destination: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            last_at: string;
            name: string;
            notified_at: string | null;
            resolved_at: string | null;
            /** @enum {string} */
            severity: "warning" | "critical";
            /**
             * Format: date-time
             * @description since when it was so
             */
            since: string;
            /** @enum {string} */
            state: "pending" | "firing" | "resolved";
            /** @description what happened, and what to do */
            text: string;
        };
        AlarmEpisode: {
            /** @description empty when it is about no account */
            account: string;
            acknowledged_at: string | null;
            /** @description who took note of it; null: nobody */
            acknowledged_by: string | null;
            /** @description empty when it is about no destination */
            destination: string;
            /** @description in the order in which they fired */
            episode_id: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            fired_at: string;
            name: string;
            /** @description null while it fires */
            resolved_at: string | null;
            /** @enum {string} */
            severity: "warning" | "critical";
            /**
             * Format: date-time
             * @description since when it was so
             */
            since: string;
            /** @description what happened, and what to do */
            text: string;
        };
        /** @description Which answers a carrier has, one row for each question with an answer or an owner. */
        ApplicationAnswersRow: {
            /** @description whose it is */
            account: string;
            /** @description its application */
            application_id: string;
            /**
             * Format: date-time
             * @description when the application was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description so far `explicit`, `derived`, `cleared` */
            ownership_kind: string | null;
            /** @description as the service gives it */
            ownership_revision: number | null;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            question_key: string;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description such as `broker_portal`, `document`, `mapping` */
            source_channel: string | null;
            /** @description so far `explicit`, `translated`, `assumed` */
            source_evidence: string | null;
            /** @description where it comes from */
            source_id: string | null;
            /** @description its submission */
            submission_id: string;
            /** @description the answer, any JSON value; `••••` in its place: ask for the row to see it */
            value: unknown;
        };
        /** @description One row for each application to a carrier. Its question schema stands in `raw`, its answers in `application_answers`. */
        ApplicationsRow: {
            /** @description whose it is */
            account: string;
            /** @description list of names */
            allowed_actions: unknown;
            /** @description a command echoes it */
            answer_revision: number | null;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            application_id: string;
            /** @description list of names */
            available_products: unknown;
            /** @description as the service gives it */
            connection_id: string | null;
            /** @description list of objects; `••••` in its place: ask for the row to see it */
            errors: unknown;
            /** @description a command echoes it */
            fact_revision: number | null;
            /**
             * Format: date-time
             * @description when the workspace was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description the line of business */
            line_of_business: string | null;
            /** @description whether facts are being mapped to answers; JSON text when the service sends more than a word */
            mapping_state: string | null;
            /** @description the program's id */
            market_program_id: string | null;
            /** @description list of the required questions without an answer */
            missing: unknown;
            /** @description so far `service`, `assisted_filler` */
            owner_host: string | null;
            /** @description as the service gives it */
            owner_session_id: string | null;
            /** @description the program */
            program_identifier: string | null;
            /** @description whose application it is */
            provider_key: string | null;
            /** @description so far `needs_information`, `ready_for_quote` */
            readiness: string | null;
            /** @description of the last request */
            request_id: string | null;
            /** @description an open vocabulary; `draft` until a quote is requested */
            request_state: string | null;
            /** @description the carrier's outcome of the last request; `••••` in its place: ask for the row to see it */
            result: unknown;
            /** @description so far `service`, `direct` */
            route: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description of the questions; a command echoes it */
            schema_fingerprint: string | null;
            /** @description list of names */
            selected_products: unknown;
            /** @description a command echoes it */
            selection_revision: number | null;
            /** @description its submission */
            submission_id: string;
            /** @description list of names */
            unresolved_dependencies: unknown;
            /** @description list of the questions that are shown */
            visible_fields: unknown;
            /** @description its workspace */
            workspace_id: string | null;
        };
        /** @description The application workspace of a submission. Its applications and facts stand in tables of their own. */
        ApplicationWorkspacesRow: {
            /** @description whose it is */
            account: string;
            /** @description so far `structured_v1` */
            contract_version: string | null;
            /** @description its set of facts */
            fact_set_id: string | null;
            /** @description how often the facts were changed */
            facts_revision: number | null;
            /**
             * Format: date-time
             * @description when the service was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description list of these forms */
            residual_form_keys: unknown;
            /** @description of the forms prepared outside applications */
            residual_status: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
            /** @description so far `structured_v1`, or `legacy`, which has no applications */
            workflow_version: string | null;
            /** @description its id */
            workspace_id: string | null;
        };
        Backup: {
            bytes: number;
            /** @description of the change log */
            first_seq: number;
            last_seq: number;
            log_epoch: string;
            /** @description numbers of the change log that have no row, as in the database itself */
            lost: number;
            path: string;
            /** @description by table */
            rows: {
                [key: string]: number;
            };
            schema_version: number;
        };
        /** @description the lowest current quote: none that a later revision may have replaced */
        BestQuote: {
            /** @description by the carrier's own documents of the lane; null: none of them says so */
            kind: ("firm" | "indication") | null;
            lane_id: string;
            market_name: string | null;
            /** @description to show, never to compute with */
            premium_display: string | null;
            quote_id: string;
            /** @description in cents of a US dollar */
            total_cents: number;
        };
        /** @description Assumptions of a bind request that the retail agent has not confirmed. One that is confirmed is gone. */
        BindAssumptionsRow: {
            /** @description whose it is */
            account: string;
            /** @description its bind request */
            bind_request_id: string;
            /**
             * Format: date-time
             * @description when the request was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            key: string;
            /** @description the assumption in words */
            label: string | null;
            /** @description its place in the list, from 0 */
            position: number | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
            /** @description the exact value asserted to the carrier, any JSON; null when it is null, and when there is none: `raw` tells which; `••••` in its place: ask for the row to see it */
            value: unknown;
        };
        /** @description What the carrier asks for before it binds, one row for each item of a bind request. */
        BindContingenciesRow: {
            /** @description whose it is */
            account: string;
            /** @description its bind request */
            bind_request_id: string;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            contingency_id: string;
            /** @description state of a signature request, an open vocabulary such as `sent`, `completed`, `queued_for_review` */
            esign_status: string | null;
            /**
             * Format: date-time
             * @description when the request was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description so far `question`, `signed_form`, `loss_runs`, `file_upload` */
            kind: string | null;
            /** @description the carrier's wording */
            label: string | null;
            /** @description the bind waits for it */
            required: boolean | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description so far `pending`, `satisfied`, `waived` */
            status: string | null;
            /** @description its submission */
            submission_id: string;
            /** @description where a PDF can be posted while the request is `drafted`; null afterwards */
            upload_path: string | null;
        };
        /** @description Requests to bind a quote. The service has no list of them: a request is here once its id is known (`known_ids`). Its assumptions and contingencies stand in tables of their own. */
        BindRequestsRow: {
            /** @description whose it is */
            account: string;
            /** @description its id */
            bind_request_id: string;
            /**
             * Format: date
             * @description date from which cover is wanted
             */
            effective_date: string | null;
            /**
             * Format: date-time
             * @description when the service was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description list of texts: what to do, in order */
            next_steps: unknown;
            /** @description the payment plan */
            payment_option: string | null;
            /** @description the policy; null until the bind is placed */
            policy_id: string | null;
            /** @description the quote to bind, as in `quotes` */
            quote_id: string | null;
            /**
             * Format: date-time
             * @description when it was requested
             */
            requested_at: string | null;
            /** @description the producing broker; `••••` in its place: ask for the row to see it */
            requested_by: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description so far `drafted`, `submitted`, `sent`, `binder_received`, `bound`, `bind_failed`, `cancelled`, `declined`, `expired`; any may follow any */
            status: string | null;
            /** @description the same in words to show */
            status_label: string | null;
            /** @description its submission */
            submission_id: string;
        };
        /** @description One row for each quote session with a carrier's API. The requirements view says which there are, and all of their columns but `missing_required_questions`, which comes from the sessions read. A session that only that read shows has no other columns. */
        CarrierApiSessionsRow: {
            /** @description whose it is */
            account: string;
            /** @description the carrier */
            carrier_slug: string | null;
            /** @description how much is answered: the number that the service shows, of which it does not say whether it is of 1 or of 100 */
            completion_pct: number | null;
            /**
             * Format: date-time
             * @description when the view was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description the carrier has quoted */
            has_quote: boolean | null;
            /** @description list of objects: questions without an answer, as the service shows them */
            missing_questions: unknown;
            /** @description the JSON in it; text that is not JSON as text */
            missing_required_questions: unknown;
            /** @description how it ended; null while it runs */
            outcome: string | null;
            /** @description the program's name */
            program: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            session_id: string;
            /** @description an open vocabulary */
            status: string | null;
            /** @description its submission */
            submission_id: string;
        };
        /** @description a change to the mirror, without its values */
        ChangeName: {
            cause: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            changed_at: string;
            entity: string;
            entity_id: string;
            operation: string;
            seq: number;
        };
        ClientMapping: {
            /** @description null: not mapped */
            client: string | null;
            destination: string;
            destination_state: string;
            mapped_at: string | null;
            mapped_via: string | null;
            policy: string | null;
        };
        Coverage: {
            accounts: {
                account: string;
                documents: {
                    known: number;
                    stored: number;
                };
                reads: {
                    done: number;
                    median_at: string | null;
                    never: number;
                    /**
                     * @description what it is made for
                     * @enum {string}
                     */
                    of: "submissions" | "ids";
                    /** @description why it is not made; null when it is */
                    off: {
                        /** @enum {string} */
                        cause: "settings" | "service";
                        reason: string;
                        retry_at: string | null;
                        /**
                         * Format: date-time
                         * @description UTC, with six fractional digits
                         */
                        since: string;
                    } | null;
                    oldest_at: string | null;
                    /** @description a kind of read; `extra:` and the name of an extra read */
                    read: string;
                    /** @description that it fills, in part or whole */
                    tables: string[];
                    total: number;
                }[];
                /** @description rows, counted up to 100,000 (`more`: there are at least so many) */
                tables: {
                    more: boolean;
                    read: string;
                    rows: number;
                    table: string;
                }[];
            }[];
            /** @description what the service gives no way to find or to know sooner */
            gaps: {
                about: string;
                what: string;
            }[];
        };
        Delivery: {
            account: string;
            attempts: number;
            /** @description the svix-id */
            delivery_id: string;
            error: string | null;
            /** @description its number */
            inbox_id: number;
            /** @description of its submission */
            insured_name: string | null;
            kind: string | null;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            /** @enum {string} */
            state: "ready" | "done" | "aside" | "dead";
            submission_id: string | null;
        };
        DeliveryBecame: {
            account: string;
            changes: components["schemas"]["ChangeName"][];
            inbox_id: number;
        };
        DeliveryShown: {
            account: string;
            attempts: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            available_at: string;
            /** @description as it came; null when it is not kept */
            body: string | null;
            /** @description the svix-id */
            delivery_id: string;
            error: string | null;
            headers: {
                [key: string]: string;
            };
            /** @description its number */
            inbox_id: number;
            kind: string | null;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            /** @description which of the account's webhook secrets verified it, from 1 */
            secret: number;
            settled_at: string | null;
            /** @enum {string} */
            state: "ready" | "done" | "aside" | "dead";
            submission_id: string | null;
        };
        Destination: {
            /** @description changes of the log that are not yet queued for it */
            behind: number | null;
            /**
             * @description `open`: it rests after failures until `retry_at`
             * @enum {string}
             */
            circuit: "closed" | "open";
            /** @description attempts in flight in one process */
            concurrency: number | null;
            /** @description the newest change that was queued for it */
            cursor: number | null;
            dead: number;
            destination: string;
            /** @description in a row */
            failures: number;
            /** @description submissions that a dead letter or an unknown outcome holds */
            held_lanes: number;
            /** @description null: the settings have none of this name any more */
            kind: string | null;
            /** @description whether a submission needs a client of the AMS there, and if one is looked up; null: not in the settings */
            mapping: ("none" | "required" | "lookup") | null;
            oldest_queued_at: string | null;
            /** @description what the changes of a submission do behind one that was given up */
            on_dead: ("continue" | "hold") | null;
            queued: number;
            reason: string | null;
            /** @description over all processes; null: no limit */
            requests_per_second: number | null;
            retry_at: string | null;
            since: string | null;
            /** @description null: it was not served yet */
            state: ("active" | "paused" | "parked" | "disabled") | null;
            unknown: number;
            /** @description submissions that wait for a client of the AMS */
            unmapped_lanes: number;
        };
        DestinationChanged: {
            destination: string;
            /** @description why it was so */
            reason: string | null;
            /** @enum {string} */
            state: "active" | "paused" | "parked" | "disabled";
            /** @enum {string} */
            was: "active" | "paused" | "parked" | "disabled";
        };
        DestinationTried: {
            destination: string;
            /** @description null: nothing harmless can be tried */
            ok: boolean | null;
            /** @description what the try showed, in a sentence */
            text: string;
        };
        Document: {
            account: string;
            content_type: string | null;
            created_at: string | null;
            document_id: string | null;
            document_key: string;
            error: string | null;
            gone_at: string | null;
            insured_name: string | null;
            name: string | null;
            origin: string | null;
            /** @description when it is fetched again */
            retry_at: string | null;
            sha256: string | null;
            source_label: string | null;
            /** @enum {string} */
            state: "stored" | "waiting" | "failed" | "gone";
            stored_at: string | null;
            stored_bytes: number | null;
            stored_path: string | null;
            submission_id: string | null;
            tried_at: string | null;
        };
        DocumentCheck: {
            /** @description how many were looked for */
            looked: number;
            lost: components["schemas"]["LostDocument"][];
            /** @description whether lost ones are fetched again */
            repaired: boolean;
        };
        /** @description One row for each document that the service says it has. It tells their names only, not where they lie. */
        DocumentsOnFileRow: {
            /** @description whose it is */
            account: string;
            /** @description the document's name */
            display_name: string | null;
            /**
             * Format: date-time
             * @description when the view was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description the SHA-256 of `kind` and `display_name`. A repetition ends with `#2`, `#3` … */
            item_key: string;
            /** @description an open vocabulary */
            kind: string | null;
            /** @description the same in words to show */
            kind_label: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
        };
        /** @description Every document that the service names: what hangs on messages, carrier originals, documents of policies, and ids of documents that answers mention. The rows follow from those tables. The file itself lies under `stored_path`, in `DOCUMENTS_DIR` or the bucket. */
        DocumentsRow: {
            /** @description whose it is */
            account: string;
            /** @description its media type, as said */
            content_type: string | null;
            /**
             * Format: date-time
             * @description when it was made
             */
            created_at: string | null;
            /** @description its id; null when it has none */
            document_id: string | null;
            /** @description the document's id when there is one, else a hash of its path or link (SHA-256, hex) */
            document_key: string;
            /** @description the link of a carrier original; it may lie on another host; `••••` in its place: ask for the row to see it */
            document_url: string | null;
            /** @description where the service gives it, relative to its base address; `••••` in its place: ask for the row to see it */
            download_path: string | null;
            /** @description why the last attempt to fetch it failed, and what follows or is to be done */
            error: string | null;
            /**
             * Format: date-time
             * @description when the service was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description the file's name */
            name: string | null;
            /** @description `attachment` of a message, `carrier_original` of a lane, `policy`, or `finalized`: only its id is known. The first that is true of `policy`, `carrier_original`, `attachment` */
            origin: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description the hash of the stored file, hex; null: not stored */
            sha256: string | null;
            /** @description its length as said */
            size_bytes: number | null;
            /** @description where the service has it from */
            source: string | null;
            /** @description the same in words to show */
            source_label: string | null;
            /**
             * Format: date-time
             * @description when it was stored
             */
            stored_at: string | null;
            /** @description the length of the stored file */
            stored_bytes: number | null;
            /** @description where the file lies in `DOCUMENTS_DIR` or the bucket: the first two digits of `sha256`, a slash, `sha256` */
            stored_path: string | null;
            /** @description its submission; of several that name it the one with the lowest id; empty when none does */
            submission_id: string | null;
            /**
             * Format: date-time
             * @description when it was last fetched, or an attempt failed
             */
            tried_at: string | null;
        };
        Exchange: {
            /** @description what came of the last attempt; null before the first */
            answer: {
                /**
                 * Format: date-time
                 * @description UTC, with six fractional digits
                 */
                at: string;
                status: number | null;
                text: string | null;
            } | null;
            attempts: number;
            destination: string;
            outbox_id: number;
            request: {
                /** @description what it is sent of the row; null when the log does not have the change any more */
                after: {
                    [key: string]: unknown;
                } | null;
                before: {
                    [key: string]: unknown;
                } | null;
                changed_at: string | null;
                entity: string;
                /** @description null: the destination is not in the settings any more */
                kind: ("webhook" | "http" | "adapter" | "file") | null;
                message_id: string;
                method: string | null;
                operation: string;
                seq: number;
                /** @description null for files, and where a template says it */
                url: string | null;
            };
        };
        ExtraRead: {
            name: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            read_at: string;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
        };
        /** @description What is known of the insured, one row for each fact and each source of it. */
        FactsRow: {
            /** @description whose it is */
            account: string;
            /** @description such as `broker_portal`, `document`, `mapping` */
            channel: string | null;
            /** @description somebody has confirmed it */
            confirmed: boolean | null;
            /** @description of the source */
            content_hash: string | null;
            /** @description so far `explicit`, `translated`, `assumed` */
            evidence: string | null;
            /** @description what read the source */
            extractor_version: string | null;
            /** @description the SHA-256 of `fact_set_id`, `key`, `scope` and `period`. Facts of which all four are the same are numbered in the order of `source_id`, then `content_hash`: when one goes, those behind it take the number before. A repetition ends with `#2`, `#3` … */
            fact_key: string;
            /** @description its set of facts */
            fact_set_id: string | null;
            /**
             * Format: date-time
             * @description when the workspace was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description what it tells, such as `insured.name` */
            key: string | null;
            /** @description the time of which it tells; null when there is none */
            period: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description whose fact it is; `insured` when the service does not say */
            scope: string | null;
            /** @description the words of the source; `••••` in its place: ask for the row to see it */
            snippet: string | null;
            /** @description where it comes from */
            source_id: string | null;
            /** @description its submission */
            submission_id: string;
            /** @description any JSON value; `••••` in its place: ask for the row to see it */
            value: unknown;
        };
        Finding: {
            about: string;
            /** @description whether something is wrong, or should have been checked and could not be: the command ends with 1 */
            fails: boolean;
            /** @description null: not checked */
            ok: boolean | null;
            /** @description what is right, what is wrong and what to do, or what was not checked and why */
            text: string;
        };
        Found: {
            /** @description the kind of the delivery, the destination of the push */
            about: string | null;
            account: string;
            /**
             * Format: date-time
             * @description when the submission last moved, the delivery came, the push was queued
             */
            at: string;
            /** @description a submission's id; the number of a delivery or a push */
            id: string;
            /** @enum {string} */
            kind: "submission" | "delivery" | "push";
            /** @description where the submission stands; the state of the delivery or the push */
            state: string;
            submission_id: string | null;
            /** @description the insured's name, the svix-id, the message id */
            title: string | null;
        };
        FoundWithoutWebhook: {
            account: string;
            /** @description it happened before its submission was tracked here: its webhook may have come before */
            before_tracked: boolean;
            /** @enum {string} */
            entity: "market_events" | "thread_messages";
            insured_name: string | null;
            /**
             * Format: date-time
             * @description when the reading found it
             */
            known_at: string;
            /** @description `poll`, `replay` (a later reading of the feed from its beginning), `reconcile` */
            known_via: string;
            /** @description its webhook counts as lost: it has not come for 15 minutes */
            lost: boolean;
            market_name: string | null;
            occurred_at: string | null;
            record_id: string;
            submission_id: string;
            /** @description the type of the event, the kind of the message */
            what: string | null;
        };
        History: {
            /** @description changes to the mirror, by what caused them */
            applied: components["schemas"]["HistoryLine"][];
            /** @description webhook deliveries, by the status they were answered with */
            deliveries: components["schemas"]["HistoryLine"][];
            lag: {
                /** @description from when an event or message happened to its row in the mirror; backfill excluded */
                mirror: components["schemas"]["HistoryLag"];
                /** @description from the change in the mirror to its delivery to a destination; snapshots excluded */
                push: components["schemas"]["HistoryLag"];
            };
            /** @description records that no webhook announced within 15 minutes, by table, when that was found */
            lost: components["schemas"]["HistoryLine"][];
            /** @description how much waited at most: `inbox` to be applied, `outbox` to be pushed */
            queues: components["schemas"]["HistoryQueue"][];
            step_seconds: number;
            /** @description when each began; the last one is still going on */
            steps: string[];
            /** @description requests to the service, by class of the answer */
            upstream: components["schemas"]["HistoryLine"][];
            /** @enum {string} */
            window: "1h" | "24h" | "7d" | "30d";
        };
        /** @description in seconds, to 26 % */
        HistoryLag: {
            count: number;
            /** @description seconds; null when nothing was counted */
            p50: number | null;
            /** @description one for each step; null where no process recorded anything */
            p50_values: (number | null)[];
            /** @description seconds; null when nothing was counted */
            p99: number | null;
            /** @description one for each step; null where no process recorded anything */
            p99_values: (number | null)[];
        };
        HistoryLine: {
            label: string;
            total: number;
            /** @description one for each step; null where no process recorded anything */
            values: (number | null)[];
        };
        HistoryQueue: {
            label: string;
            most: number;
            /** @description at the newest step that was recorded */
            now: number | null;
            /** @description one for each step; null where no process recorded anything */
            values: (number | null)[];
        };
        /** @description Insureds: identity, contacts, and the brokerage's submissions and policies of each. The service does not show the fields, so all of it stands in `raw`. The names are best effort: they are looked for where `record_fields` in the settings says. */
        InsuredsRow: {
            /** @description whose it is */
            account: string;
            /** @description the name under which it does business */
            dba_name: string | null;
            /**
             * Format: date-time
             * @description when the service was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description its id */
            insured_id: string;
            /** @description its name */
            legal_name: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description the submission whose answer named it first; null when none has, or an operator named it without one */
            submission_id: string | null;
        };
        InterfaceDrift: {
            account: string;
            /** @description in how many answers and deliveries */
            answers: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            first_seen_at: string;
            /**
             * @description what is not named: the field, the value of a vocabulary, or the type; or that a required field is missing
             * @enum {string}
             */
            kind: "field" | "value" | "type" | "missing";
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            last_seen_at: string;
            /** @description names of fields, `[]` for the items of a list, `{}` for a key that is data */
            path: string;
            /** @description the read that it was in, or the kind of the delivery */
            resource: string;
            /** @description the JSON type that was seen; absent for a missing field */
            type: string;
        };
        LaneChip: {
            bound: boolean | null;
            /** @description so far `instant_quote`, `binding`, `specialty` */
            category: string | null;
            /** @description so far `bound`, `quoted`, `needs_info`, `in_progress`, `not_available` */
            chip: string | null;
            lane_id: string;
            market_name: string | null;
            status: string | null;
            status_label: string | null;
        };
        /** @description One row for each market (program) in which a submission is tried. `state_source` says whose word its state is: `rail` is the service's own summary; `event` means that no summary has named the lane yet, and its state is that of its newest event. */
        LanesRow: {
            /** @description whose it is */
            account: string;
            /** @description coverage is placed */
            bound: boolean | null;
            /** @description list of ids */
            carrier_api_session_ids: unknown;
            /** @description so far `bound`, `quoted`, `not_available`, `needs_info`, `in_progress` */
            chip: string | null;
            /** @description held for something that only the broker can supply */
            gapped: boolean | null;
            /**
             * Format: date-time
             * @description when the rail was first seen without it; of a lane that no rail has named, when all events that told of it were found to be gone; null while it is there
             */
            gone_at: string | null;
            /** @description the lane's id: one id, two names */
            lane_id: string;
            /** @description list of lines of business */
            lines: unknown;
            /** @description the market's id */
            market_id: string | null;
            /** @description the market's name */
            market_name: string | null;
            /** @description what comes next, in words; JSON text when the service sends more than words */
            next_step: string | null;
            /** @description the program's name */
            program: string | null;
            /** @description so far `instant_quote`, `binding`, `specialty` */
            program_category: string | null;
            /** @description the program's id */
            program_id: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description with `event`: the event that the state is taken from */
            state_event_id: string | null;
            /**
             * Format: date-time
             * @description with `event`: when that happened
             */
            state_occurred_at: string | null;
            /** @description `rail` or `event` */
            state_source: string | null;
            /** @description an open vocabulary */
            status: string | null;
            /** @description the same in words to show */
            status_label: string | null;
            /** @description its submission */
            submission_id: string;
            /** @description ready to go to the market */
            submit_ready: boolean | null;
            /** @description list: what is still missing, in words */
            unmet_labels: unknown;
        };
        ListedOpenItem: {
            account: string;
            bind_request_id: string | null;
            bind_status: string | null;
            how_to_provide: string | null;
            insured_name: string | null;
            item_key: string;
            label: string | null;
            lane_id: string | null;
            /** @description null: of the submission as a whole, or it cannot be told */
            market_name: string | null;
            /** @description `outstanding`, `market`, `bind assumption`, `bind contingency` */
            source: string;
            submission_id: string;
        };
        ListedQuote: {
            account: string;
            /** @description its lane is bound, at this quote or another */
            bound: boolean | null;
            chip: string | null;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            first_seen_at: string;
            insured_name: string | null;
            /** @description its lane is bound at it; null: the lane is bound, and it cannot be told */
            is_bound_quote: boolean | null;
            is_revision: boolean | null;
            lane_id: string;
            /** @description lines of business, a list of slugs */
            lines: unknown;
            market_name: string | null;
            /** @description a later revision may stand in its place; null: it cannot be told */
            may_be_superseded: boolean | null;
            /** @description to show, never to compute with */
            premium_display: string | null;
            program: string | null;
            program_category: string | null;
            quote_id: string;
            /** @description of its lane */
            status: string | null;
            status_label: string | null;
            submission_id: string;
            total_cents: number | null;
        };
        LoggedChange: {
            account: string;
            /** @description the columns that changed, as they are; all of them on insert */
            after: {
                [key: string]: unknown;
            } | null;
            /** @description the columns that changed, as they were */
            before: {
                [key: string]: unknown;
            } | null;
            /** @description `webhook`, `poll`, `backfill`, `reconcile`, `command` */
            cause: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            changed_at: string;
            /** @description the table */
            entity: string;
            /** @description the key behind the account, as the text of a JSON list */
            entity_id: string;
            /** @description `insert`, `update`, `gone`, `purged` */
            operation: string;
            /** @description its number; the log has no gaps */
            seq: number;
            submission_id: string | null;
        };
        LostDocument: {
            account: string;
            document_key: string;
            /** @description its length in the storage; null: it is not there */
            found_bytes: number | null;
            name: string | null;
            /** @description its length by the table */
            stored_bytes: number | null;
            stored_path: string | null;
            submission_id: string | null;
        };
        Mapping: {
            account: string;
            client: string;
            destination: string;
            fields: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            mapped_at: string;
            /** @description `import`, `admin`, `lookup`, or `sql` (written into the table by hand) */
            mapped_via: string;
            policy: string | null;
            submission_id: string;
        };
        MappingRowInput: {
            /** @description its account, needed where the destination has several */
            account?: string;
            client: string;
            /** @description more for templates and adapters */
            fields?: {
                [key: string]: string;
            };
            /** @description its policy in the AMS */
            policy?: string;
            submission_id: string;
        };
        MappingsStored: {
            stored: number;
            /** @description of these the mirror does not know the submission yet */
            unknown_submissions: number;
        };
        /** @description One row for each market of the requirements view: whether it can be approached, and what it still needs from whom. An empty list while markets are being matched means "not yet" and changes nothing. */
        MarketReadinessRow: {
            /** @description whose it is */
            account: string;
            /** @description the same in words to show */
            category_label: string | null;
            /**
             * Format: date-time
             * @description when the view was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description list: what the service fetches itself, in words */
            hedge_obtains: unknown;
            /** @description its lane; null while it has none */
            lane_id: string | null;
            /** @description the market's name */
            market_name: string | null;
            /** @description list: what only the broker can supply, in words */
            needs_from_you: unknown;
            /** @description the program's name */
            program: string | null;
            /** @description so far `instant_quote`, `binding`, `specialty` */
            program_category: string | null;
            /** @description the `lane_id`; without one the SHA-256 of `market_name` and `program`. A repetition ends with `#2`, `#3` … */
            readiness_key: string;
            /** @description nothing is missing */
            ready: boolean | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
        };
        NotTold: {
            alarm: string;
            error: string;
            operator: string;
        };
        OpenItem: {
            bind_request_id: string | null;
            bind_status: string | null;
            how_to_provide: string | null;
            item_key: string;
            label: string | null;
            lane_id: string | null;
            /** @description null: of the submission as a whole, or it cannot be told */
            market_name: string | null;
            /** @description `outstanding`, `market`, `bind assumption`, `bind contingency` */
            source: string;
        };
        OperatorTried: {
            ok: boolean;
            operator: string;
            text: string;
        };
        OutboxRow: {
            account: string;
            attempts: number;
            delivered_at: string | null;
            destination: string;
            destination_state: string;
            detail: string | null;
            entity: string;
            entity_id: string;
            /** @description what came of the last attempt; in lists without what the destination answered */
            error: string | null;
            /** @description of its submission */
            insured_name: string | null;
            /** @description what keeps its order: a submission, or another entity */
            lane: string;
            /** @description the webhook-id */
            message_id: string;
            next_try_at: string | null;
            operation: string;
            /** @description its number */
            outbox_id: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            queued_at: string;
            /** @description what the destination calls the record; masked in lists */
            remote_id: string | null;
            seq: number;
            /** @description as in the view push_status */
            state: string;
            status: number | null;
            submission_id: string | null;
            tried_at: string | null;
        };
        OutboxSettled: {
            changed: number;
            /** @description left alone, because they are being sent just now */
            under_way: number;
        };
        /** @description What the broker must still supply: requirements that are not met, and open questions of carriers, each once. One that is answered or no longer asked for is gone. */
        OutstandingItemsRow: {
            /** @description whose it is */
            account: string;
            /**
             * Format: date-time
             * @description when the list was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description how to supply it, in words; JSON text when the service sends more than words */
            how_to_provide: string | null;
            /** @description how it is asked for, such as `text`, `number`, `bool`, `select`, `date` */
            input: string | null;
            /** @description its `key`; without one the SHA-256 of `label`. A repetition ends with `#2`, `#3` … */
            item_key: string;
            /** @description what an answer names it by */
            key: string | null;
            /** @description the same in words to show */
            label: string | null;
            /** @description list of names: the markets that it unlocks */
            markets: unknown;
            /** @description list of objects: what may be chosen */
            options: unknown;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description an open vocabulary */
            source: string | null;
            /** @description its submission */
            submission_id: string;
        };
        Overview: {
            accounts: {
                account: string;
                dead: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                newest_read_at: string | null;
                oldest_wake_at: string | null;
                stalest_read_at: string | null;
                state: string;
                submissions: number;
            }[];
            destinations: {
                dead: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                destination: string;
                held: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                oldest_unsent_at: string | null;
                state: string;
                unknown: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
                unmapped: {
                    /** @description counted up to a limit */
                    count: number;
                    oldest_at: string | null;
                };
            }[];
            /** @description deliveries that wait to be applied */
            inbox: {
                /** @description counted up to a limit */
                count: number;
                oldest_at: string | null;
            };
            /** @description what is older than it should be, and gets fresh without a person */
            readonly late: {
                count: number | null;
                kind: string;
                of: string | null;
                since: string | null;
            }[];
            needs: {
                /** @description that it is about; null: none */
                account: string | null;
                count: number;
                /** @description that it is about; null: none */
                destination: string | null;
                kind: string;
                mend: {
                    body?: {
                        [key: string]: string;
                    } | null;
                    /** @description what to type */
                    command?: string;
                    /**
                     * @description with `path` and `body`: the request that mends it, where one can
                     * @constant
                     */
                    method?: "POST";
                    path?: string;
                    /** @description the section of the runbook that tells what to do */
                    runbook?: string;
                };
                /** @description the reconcile run that it is about; null: none */
                run_id: string | null;
                since: string | null;
                what: string;
            }[];
            /** @description the verdict and its reasons, for people */
            sentence: string;
            /** @description whether a process works on the database now */
            served: boolean;
            /** @description since when it needs a person or is behind; null when not known, or complete */
            since: string | null;
            submissions: {
                known: number;
                never_read: number;
                unreachable: number;
            };
            /** @enum {string} */
            verdict: "complete" | "catching_up" | "attention";
        };
        /** @description Bound policies. The service describes what an answer holds (identifiers, coverage lines, term, carrier, premium, commission, documents) and not its fields, so all of it stands in `raw`. The columns from `policy_number` to `commission_cents` are best effort: they are looked for where `record_fields` in the settings says. */
        PoliciesRow: {
            /** @description whose it is */
            account: string;
            /** @description name of the carrier */
            carrier_name: string | null;
            /** @description the broker's commission, in cents */
            commission_cents: number | null;
            /**
             * Format: date
             * @description date from which it covers
             */
            effective_date: string | null;
            /**
             * Format: date
             * @description date on which it ends
             */
            expiration_date: string | null;
            /**
             * Format: date-time
             * @description when the service was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description its id */
            policy_id: string;
            /** @description its number */
            policy_number: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description the submission whose answer named it first; null when none has, or an operator named it without one */
            submission_id: string | null;
            /** @description premium, fees and taxes together, in cents */
            total_billed_cents: number | null;
        };
        Problem: {
            /** @description one sentence: what is wrong, and what to do */
            detail: string;
            /** @description of a 409: the one that was asked about */
            epoch?: string;
            /** @description of a 410: the first number that the change log still has */
            first_seq?: number;
            /** @description of a 409: the current log epoch */
            log_epoch?: string;
            /** @description when several things are wrong: all of them */
            problems?: string[];
            status: number;
            /** @description what the status means */
            title: string;
        };
        Process: {
            /** @description it is the one that answers */
            is_this: boolean;
            process_id: string;
            /** @description `all`, `receive`, `work` of `serve`; `sync`, `reconcile`: a command that reads from the service */
            role: string;
            /**
             * Format: date-time
             * @description its last sign of life; one that gives none for 20 s is taken for dead
             */
            seen_at: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            started_at: string;
            version: string;
        };
        /** @description One row for each program that the service has checked the submission against. A view without an assessment changes nothing. */
        ProgramAssessmentsRow: {
            /** @description whose it is */
            account: string;
            /** @description so far `email`, `api`, `portal` */
            channel: string | null;
            /** @description so far `enforce`, `report_only`, `none` */
            enforcement: string | null;
            /**
             * Format: date-time
             * @description when the service checked, as of the newest change of the row. Alone it is no change
             */
            evaluated_at: string | null;
            /**
             * Format: date-time
             * @description when the assessment was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description its lane */
            lane_id: string;
            /** @description the market's name */
            market_name: string | null;
            /** @description so far `instant_quote`, `binding`, `specialty` */
            program_category: string | null;
            /** @description the program's name */
            program_display_name: string | null;
            /** @description the program's id */
            program_id: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
            /** @description ready to go to the market */
            submit_ready: boolean | null;
        };
        /** @description Quotes that no longer stand. A history that the service says it cannot give changes nothing. */
        QuoteHistoryRow: {
            /** @description whose it is */
            account: string;
            /**
             * Format: date-time
             * @description when the history was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            history_key: string;
            /** @description the market's name */
            market_name: string | null;
            /**
             * Format: date-time
             * @description when the service saw it
             */
            observed_at: string | null;
            /** @description so far `expired`, `invalid` */
            outcome: string | null;
            /** @description the program's name */
            program: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
        };
        QuoteOnBoard: {
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            first_seen_at: string;
            /** @description its lane is bound at it; null: the lane is bound, and it cannot be told */
            is_bound_quote: boolean | null;
            lane_id: string;
            /** @description a later revision may stand in its place; null: it cannot be told */
            may_be_superseded: boolean | null;
            quote_id: string;
        };
        /** @description What the service has relayed in a lane. */
        QuotesRow: {
            /** @description whose it is */
            account: string;
            /**
             * Format: date-time
             * @description when it was first stored here
             */
            first_seen_at: string | null;
            /**
             * Format: date-time
             * @description when the lane was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description it replaces an earlier quote */
            is_revision: boolean | null;
            /** @description its lane */
            lane_id: string;
            /** @description list of lines of business */
            lines: unknown;
            /** @description the premium as the service shows it, in words: to show, never to compute with */
            premium_display: string | null;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            quote_id: string;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
            /** @description the total, in cents */
            total_cents: number | null;
        };
        ReachedDestination: {
            dead: number;
            /** @description changes that it took, of those that retention keeps; sent again they count once */
            delivered: number;
            destination: string;
            /** @description that wait behind one that a person must see to */
            held: number;
            last_delivered_at: string | null;
            /** @description whether it needs a client there; null: not in the settings, or not of this account */
            mapping: ("none" | "required" | "lookup") | null;
            /** @description of the change log, behind what was queued for it; it may not be sent all of them */
            not_queued: number;
            /** @description since when the oldest waits, whatever for */
            oldest_waiting_at: string | null;
            /** @description given up for good */
            skipped: number;
            /** @description that may have arrived */
            unknown: number;
            /** @description that wait for a client of the AMS */
            unmapped: number;
            /** @description that will be sent by themselves */
            waiting: number;
        };
        ReadFreshness: {
            last_changed_at: string | null;
            /** @description null: never yet */
            last_read_at: string | null;
            last_replay_at: string | null;
            read: string;
        };
        ReconcileFinding: {
            account: string;
            destination: string | null;
            detail: string;
            entity: string | null;
            entity_id: string | null;
            fields: {
                field: string;
                mirror: unknown;
                service: unknown;
            }[] | null;
            finding_no: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            found_at: string;
            /** @description of its submission */
            insured_name: string | null;
            /** @enum {string} */
            kind: "missing" | "different" | "absent" | "unreadable" | "undelivered" | "lost";
            read: string | null;
            repaired_at: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            run_id: string;
            seq: number | null;
            /** @description it was known before this run */
            standing: boolean;
            submission_id: string | null;
        };
        ReconcileRun: {
            absent: number;
            account: string;
            different: number;
            ended_at: string | null;
            exit_code: number | null;
            /** @description findings that stand since before; they are not counted above */
            known: number;
            /** @description holes in the change log */
            lost: number;
            missing: number;
            note: string | null;
            options: {
                [key: string]: unknown;
            };
            repaired: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            requested_at: string;
            /** @description `command`, `cron`, or `admin:` and the name of a token */
            requested_by: string;
            rows_compared: number;
            run_id: string;
            /** @description the scheduled time of the run (RECONCILE_CRON); null for one that an operator requested */
            slot: string | null;
            started_at: string | null;
            /** @enum {string} */
            state: "requested" | "running" | "done" | "budget" | "failed" | "stopped";
            submissions_done: number;
            submissions_total: number;
            undelivered: number;
            unreadable: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            updated_at: string;
        };
        RefusedDelivery: {
            account: string | null;
            address: string;
            /** @description how long its body was; null when it was not read */
            body_bytes: number | null;
            /** @description only its beginning is kept, so it cannot be verified again */
            body_cut: boolean;
            path: string;
            reason: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            /** @description its number */
            rejected_id: number;
            replayed_at: string | null;
        };
        RefusedDeliveryShown: {
            account: string | null;
            address: string;
            /** @description as it came; null when it is not kept */
            body: string | null;
            /** @description how long its body was; null when it was not read */
            body_bytes: number | null;
            /** @description only its beginning is kept, so it cannot be verified again */
            body_cut: boolean;
            headers: {
                [key: string]: string;
            };
            path: string;
            reason: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            received_at: string;
            /** @description its number */
            rejected_id: number;
            replayed_at: string | null;
        };
        RefusedReason: {
            count: number;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            newest_at: string;
            reason: string;
        };
        RefusedReplayed: {
            /** @description how many verify now */
            accepted: number;
            /** @description how many do not, by reason */
            refused: {
                [key: string]: number;
            };
        };
        Reloaded: {
            /** @description what works by other settings from now on */
            readonly applied: string[];
            /** @description settings that differ and stay as they were until the next start */
            readonly needs_restart: string[];
        };
        /** @description how many; with `dry_run` how many it would be */
        Replayed: {
            replayed: number;
        };
        /** @description What a program requires, one row for each requirement, with what the service found. */
        RequirementItemsRow: {
            /** @description whose it is */
            account: string;
            /** @description null: not known */
            blocks_submission: boolean | null;
            /** @description by when: so far `quote`, `bind` */
            due_stage: string | null;
            /** @description the form that supplies it */
            form_key: string | null;
            /**
             * Format: date-time
             * @description when the assessment was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description its `key`; without one the SHA-256 of `label`. A repetition ends with `#2`, `#3` … */
            item_key: string;
            /** @description what the service calls it; may be null */
            key: string | null;
            /** @description the same in words to show */
            label: string | null;
            /** @description its lane */
            lane_id: string;
            /** @description so far `structured`, `free_text`, `form`, `file` */
            repr: string | null;
            /** @description who supplies it: so far `broker`, `auto`, `internal` */
            resolution: string | null;
            /** @description the list in which it stands: `met`, `unmet`, `deferred` */
            result: string | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description null: not known */
            satisfied: boolean | null;
            /** @description so far `hard`, `preferred` */
            severity: string | null;
            /** @description its submission */
            submission_id: string;
        };
        Resent: {
            /** @description submissions with later changes that are not among them */
            changed_since: number;
            /** @description that are sent again, or would be */
            changes: number;
            /** @description this is the rest of the same resend, interrupted earlier */
            continues: boolean;
            destination: string;
            dry_run: boolean;
            /** @description left out by the filters of the destination, as they are now */
            filtered: number;
            first_seq: number | null;
            /** @description of them, those that were given up before */
            given_up: number;
            last_seq: number | null;
            /** @description what to know of it, a sentence each */
            notes: string[];
            /** @description left out because their submissions were purged */
            purged: number;
            queued: number;
            submissions: number;
            /** @description of them, those that still wait from before: they are sent twice */
            waiting: number;
        };
        Retention: {
            changes: {
                of: number;
                /** @description that the turn removes, about */
                rows: number;
            };
            /** @description whose body and headers go */
            deliveries: {
                of: number;
                /** @description that the turn removes, about */
                rows: number;
            };
            /** @description the turn of today is done */
            done: boolean;
            /** @description what the last turn did */
            last: string | null;
            /** @description of the turn that ran at once; `held`: another process runs it; null: none did */
            outcome: ("done" | "held" | "stopped" | "waits") | null;
            text: string;
            /** @description why the turn waits; null when it does not */
            waits_for: string | null;
        };
        Session: {
            /** @description of a session, whatever is done in it */
            ends_at: string | null;
            /** @description of a session, when nothing more is asked; noted with a tenth of OPS_SESSION_IDLE */
            idle_ends_at: string | null;
            /** @description the roles that it includes */
            may: ("viewer" | "operator" | "admin")[];
            /** @description of the token; `oidc:` and the name of who signed in by OpenID Connect */
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "admin";
            /** @enum {string} */
            via: "token" | "session";
        };
        Setting: {
            /** @description a secret is there; nobody is shown it */
            is_secret: boolean;
            /** @description its place in the settings file, like `accounts.default.base_url`; times in milliseconds end in `_ms` */
            name: string;
            /** @description null for a secret, and for what is not set */
            value: (string | number | boolean | (string | number)[]) | null;
        };
        ShownRow: {
            /** @description every column; `raw` (and other columns of that kind) is the JSON text of the object as the service sent it */
            row: {
                [key: string]: unknown;
            };
            row_key: string;
            table: string;
        };
        SignInMethods: {
            /** @description null: no provider of OpenID Connect is set */
            oidc: {
                /** @description what people call the provider */
                name: string;
                /** @description where to send the browser */
                path: string;
            } | null;
            /** @description whether one may sign in with a token */
            token: boolean;
        };
        /** @description how many; with `dry_run` how many it would be */
        Skipped: {
            skipped: number;
        };
        /** @description Documents as the carrier made them, by lane. The files themselves are in `documents`, with the origin `carrier_original`. */
        SourceOffersRow: {
            /** @description whose it is */
            account: string;
            /** @description as the service gives it; it may lie on another host; `••••` in its place: ask for the row to see it */
            document_url: string | null;
            /** @description the file's name */
            filename: string | null;
            /**
             * Format: date-time
             * @description when the lane was first seen without it; null while it is shown
             */
            gone_at: string | null;
            /** @description so far `quote`, `indication` */
            kind: string | null;
            /** @description what the service calls it */
            label: string | null;
            /** @description its lane */
            lane_id: string;
            /** @description its id; one of more than 512 characters as its SHA-256: `sha256:` and hex digits */
            presentation_id: string;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description its submission */
            submission_id: string;
        };
        Status: {
            accounts: ({
                account: string;
                state: string;
                submissions: number;
            } & {
                [key: string]: unknown;
            })[];
            change_log: {
                first_seq: number;
                last_seq: number;
            };
            clocks: {
                /** @description how far this machine's clock is ahead of each */
                apart: {
                    ahead_ms: number;
                    clock: string;
                }[];
                /** @description what waits for that, or for an operator */
                waits: string[];
            };
            /** @enum {string} */
            database: "sqlite" | "postgres";
            destinations: ({
                destination: string;
                queued: number;
                state: string | null;
            } & {
                [key: string]: unknown;
            })[];
            /** @description what needs a person; empty unless the verdict is `attention` */
            needs: {
                count: number;
                kind: string;
                mend: {
                    command: string;
                } | {
                    runbook: string;
                };
                since: string | null;
                what: string;
            }[];
            processes: ({
                process_id: string;
                role: string;
                version: string;
            } & {
                [key: string]: unknown;
            })[];
            /** @description on how many Postgres servers an acknowledged delivery lies, with standbys and slots; null on SQLite */
            replication: ({
                servers: number;
                synchronous_standby_names: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description the verdict and its reasons, for people */
            sentence: string;
            /**
             * @description what the mirror is judged to be
             * @enum {string}
             */
            verdict: "complete" | "catching_up" | "attention";
            version: string;
            /** @description what an operator should look into, a sentence each */
            warnings: string[];
        } & {
            [key: string]: unknown;
        };
        /** @description a row of the view completeness */
        SubmissionCompleteness: {
            account: string;
            lag_seconds: number;
            lost_webhooks: number;
            proved_at: string | null;
            submission_id: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            tracked_at: string;
            /** @description how it became known */
            tracked_via: string;
            unreachable_since: string | null;
        } & {
            [key: string]: unknown;
        };
        SubmissionItem: {
            account: string;
            best_quote: components["schemas"]["BestQuote"] | null;
            /** @description of the newest bind request */
            bind_status: string | null;
            documents_held: number;
            documents_missing: number;
            /** Format: date */
            effective_date: string | null;
            /** @description never masked: what people know a submission by */
            insured_name: string | null;
            /** @description lanes that are not gone, by market */
            readonly lanes: components["schemas"]["LaneChip"][];
            /** @description lines of business, a list of slugs; null when not said */
            lines: unknown;
            marketing_status: string | null;
            /**
             * Format: date-time
             * @description its newest event or message; when there is none, since when it is tracked
             */
            moved_at: string;
            /** @description how fresh it is: the oldest of its three main reads; null: one was never made */
            oldest_read_at: string | null;
            /** @description what the broker must still supply, from all sources of `open_items` */
            outstanding_count: number;
            /** @description when a reconcile run last proved it equal to the service; null: never yet */
            proved_at: string | null;
            /** @description where it stands: `unreachable`; else the chip of the lane that is furthest: `bound`, `quoted`, `needs_info`, `in_progress`, `not_available`; without lanes its `marketing_status`, and without that `unknown` */
            stands: string;
            /** @description the US state */
            state: string | null;
            submission_id: string;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            tracked_at: string;
            unreachable_since: string | null;
        };
        /** @description what the view `completeness` says of it */
        SubmissionLedger: {
            event_count: number;
            failing_reads: number;
            lag_seconds: number;
            lost_webhooks: number;
            message_count: number;
            proved_at: string | null;
            /** @description the reconcile run */
            proved_by: string | null;
            /**
             * Format: date-time
             * @description UTC, with six fractional digits
             */
            tracked_at: string;
            tracked_via: string;
        } | null;
        SubmissionsPurged: {
            account: string;
            dry_run: boolean;
            /** @description removed, or to be removed */
            readonly submissions: string[];
            /** @description had no row here; they will not be tracked either */
            readonly unknown: string[];
        };
        /** @description One row for each submission that is known: because a delivery named it, because somebody told the program to track it, or because a path that the settings have probed (`accounts[].discovery`) showed its id. The service describes no list of submissions to ask for. */
        SubmissionsRow: {
            /** @description whose it is */
            account: string;
            /**
             * Format: date
             * @description date from which cover is wanted
             */
            effective_date: string | null;
            /** @description a live form-fill session owns the set of forms */
            form_fill_active: boolean | null;
            /** @description its insured, as in `insureds`; null while no answer has named one */
            insured_id: string | null;
            /** @description name of the insured */
            insured_name: string | null;
            /**
             * Format: date-time
             * @description the later of these two; null when there is neither. Order by it for the latest submissions
             */
            last_activity_at: string | null;
            /**
             * Format: date-time
             * @description `occurred_at` of its newest event that is not gone
             */
            last_event_at: string | null;
            /**
             * Format: date-time
             * @description `occurred_at` of its newest message that is not gone
             */
            last_message_at: string | null;
            /** @description lines of business, a list of slugs */
            lines: unknown;
            /** @description what the service adds to that */
            marketing_hint: string | null;
            /** @description so far `not_started`, `matching`, `matched`, `no_markets_matched`; no lanes while `matching` means "not yet" */
            marketing_status: string | null;
            /** @description how many of them the broker can answer */
            outstanding_answerable_count: number | null;
            /** @description how many markets they concern */
            outstanding_markets_total: number | null;
            /** @description its key, for `GET /api/v1/rows/{table}/{key}`: the parts in their order, each percent-encoded, with `/` between them */
            row_key: string;
            /** @description the US state, two letters */
            state: string | null;
            /** @description the submission's id */
            submission_id: string;
            /**
             * Format: date-time
             * @description since when it is tracked here
             */
            tracked_at: string | null;
            /** @description how it became known: `webhook`; `command` (an operator named it, by a command or the admin route); `discovery:` and the path, as the settings have it, whose answer held its id; `poll`, `reconcile` */
            tracked_via: string | null;
            /**
             * Format: date-time
             * @description since when the service answers "not found" (confirmed three times); null while it is found
             */
            unreachable_since: string | null;
        };
        SubmissionsTracked: {
            account: string;
            /** @description not known before */
            added: number;
            /** @description known before */
            known: number;
            /** @description purged before, and therefore not tracked */
            purged: number;
        };
        SubmissionView: {
            /** @description what it is mapped to, by destination */
            clients: components["schemas"]["ClientMapping"][];
            /** @description tables of which there are more rows than are shown */
            cut: string[];
            extra_reads: components["schemas"]["ExtraRead"][];
            freshness: components["schemas"]["ReadFreshness"][];
            ledger: components["schemas"]["SubmissionLedger"];
            /** @description what the broker must still supply, from all sources */
            open_items: components["schemas"]["OpenItem"][];
            /** @description what the view `quote_board` says of its quotes that are not gone, the lowest first */
            quote_board: components["schemas"]["QuoteOnBoard"][];
            /** @description how many of its changes each destination has, and what became of the others */
            reached: components["schemas"]["ReachedDestination"][];
            summary: components["schemas"]["SubmissionItem"];
            /** @description the rows of every table but events and messages, which the timeline has; what is gone bears `gone_at` */
            tables: {
                application_answers: components["schemas"]["ApplicationAnswersRow"][];
                application_workspaces: components["schemas"]["ApplicationWorkspacesRow"][];
                applications: components["schemas"]["ApplicationsRow"][];
                bind_assumptions: components["schemas"]["BindAssumptionsRow"][];
                bind_contingencies: components["schemas"]["BindContingenciesRow"][];
                bind_requests: components["schemas"]["BindRequestsRow"][];
                carrier_api_sessions: components["schemas"]["CarrierApiSessionsRow"][];
                documents: components["schemas"]["DocumentsRow"][];
                documents_on_file: components["schemas"]["DocumentsOnFileRow"][];
                facts: components["schemas"]["FactsRow"][];
                insureds: components["schemas"]["InsuredsRow"][];
                lanes: components["schemas"]["LanesRow"][];
                market_readiness: components["schemas"]["MarketReadinessRow"][];
                outstanding_items: components["schemas"]["OutstandingItemsRow"][];
                policies: components["schemas"]["PoliciesRow"][];
                program_assessments: components["schemas"]["ProgramAssessmentsRow"][];
                quote_history: components["schemas"]["QuoteHistoryRow"][];
                quotes: components["schemas"]["QuotesRow"][];
                requirement_items: components["schemas"]["RequirementItemsRow"][];
                source_offers: components["schemas"]["SourceOffersRow"][];
                submissions: components["schemas"]["SubmissionsRow"][];
            };
        };
        SyncRequested: {
            account: string;
            /** @description how many will be read */
            submissions: number;
        };
        TimelineAttachment: {
            document_key: string | null;
            gone_at: string | null;
            name: string | null;
            position: number;
        };
        /** @description a column that changed; personal values are masked */
        TimelineChange: {
            after: unknown;
            before: unknown;
            column: string;
        };
        TimelineItem: {
            /**
             * Format: date-time
             * @description when it happened; of a change when it was stored; of a push when it was settled, else last tried, else queued
             */
            at: string;
            attachments: components["schemas"]["TimelineAttachment"][];
            changed: components["schemas"]["TimelineChange"][];
            /** @description of a push */
            destination: string | null;
            /** @description of a message, in the service's view: `inbound` was written by the brokerage */
            direction: string | null;
            /** @description the table of the row that it is about */
            entity: string | null;
            /** @description of a push */
            error: string | null;
            gone_at: string | null;
            /** @description the id of an event or a message, the `seq` of a change, the number of a push */
            id: string;
            /** @enum {string} */
            kind: "push" | "change" | "message" | "event";
            /** @description when it was stored here */
            known_at: string | null;
            /** @description of an event or a message `webhook`, `poll`, `replay`, `backfill`, `reconcile`; of a change its cause; null of a push */
            known_via: string | null;
            lane_id: string | null;
            /** @description of an event or a message: from when it happened to when it was stored */
            late_ms: number | null;
            operation: string | null;
            /** @description the market; who wrote, masked */
            party: string | null;
            pushes: components["schemas"]["TimelinePush"][];
            row_key: string | null;
            /** @description of a change and of a push */
            seq: number | null;
            /** @description of a push */
            state: string | null;
            /** @description the label of the state, the subject */
            summary: string | null;
            /** @description the detail of an event; the body of a message, masked */
            text: string | null;
            /** @description whether a webhook told of it: `first`, `later` (after a feed had shown it), `none`, `not expected` */
            webhook: string | null;
            webhook_at: string | null;
            /** @description the type of an event, the kind of a message, the table and the operation of a change or push */
            what: string;
        };
        /** @description what became of it at a destination */
        TimelinePush: {
            attempts: number;
            delivered_at: string | null;
            destination: string;
            outbox_id: number;
            /** @description it is sent again because an operator asked for it */
            resent: boolean;
            /** @description the change */
            seq: number;
            /** @description as in the view push_status */
            state: string;
            status: number | null;
            tried_at: string | null;
        };
        UnmappedSubmission: {
            account: string;
            /** @description that wait for a client */
            changes: number;
            /** @description null: the mirror does not know it yet */
            insured_name: string | null;
            /** @description when the oldest of them was queued */
            since: string | null;
            submission_id: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAccounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the accounts: state, brokerage, when each credential got a token last, and when each webhook secret verified a delivery last */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Account"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getAccountsByNameCompleteness: {
        parameters: {
            query?: {
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description the id of a submission */
                submission_id?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description tell how complete the mirror of each submission of an account is, by their ids */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SubmissionCompleteness"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postAccountsByNameResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the account */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description let a parked or paused account try at once instead of at its time */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountResumed"];
                };
            };
        };
    };
    getActions: {
        parameters: {
            query?: {
                /** @description only this action, like outbox.retry */
                action?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /**
                 * @description only since: a date, a date-time, or how long ago (`2h`, `7d`)
                 * @example 24h
                 */
                since?: string;
                /** @description only by this token; `command`: at the terminal */
                who?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list what operators did, at the terminal, over HTTP and by assistants, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Action"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getAlarms: {
        parameters: {
            query?: {
                /** @description also what is over */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the alarms that fire, and which operators could not be told */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Alarm"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                        not_told: components["schemas"]["NotTold"][];
                    };
                };
            };
        };
    };
    postAlarmsAcknowledge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description only about this account */
                    account?: string;
                    /** @description only about this destination */
                    destination?: string;
                    /** @description of the alarm, as the list shows it; all of that name when no account and no destination is given */
                    name: string;
                };
            };
        };
        responses: {
            /** @description take note of an alarm that fires: it says by whom and when, and goes on to fire and to be told */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Acknowledged"];
                };
            };
        };
    };
    getAlarmsHistory: {
        parameters: {
            query?: {
                /** @description only about this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description only about this destination */
                destination?: string;
                /** @description how many at most */
                limit?: number;
                /** @description only of this alarm */
                name?: string;
                /** @description only of this severity */
                severity?: "warning" | "critical";
                /**
                 * @description only what fired since: a date, a date-time, or how long ago (`2h`, `7d`)
                 * @example 24h
                 */
                since?: string;
                /**
                 * @description only what fired before
                 * @example 24h
                 */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list when alarms fired and ended, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AlarmEpisode"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postAlarmsTest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description the name of the operator; all of them when left out */
                    operator?: string;
                } | null;
            };
        };
        responses: {
            /** @description send a test message to operators, and tell what came of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperatorTried"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postBackup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description where to; it must not exist yet. Over HTTP its name alone, ending in `.db`: it lies beside the database
                     * @example backup-2026-11-22.db
                     */
                    file: string;
                };
            };
        };
        responses: {
            /** @description make a consistent copy of the SQLite database while it is worked on, and verify it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
        };
    };
    getChanges: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description only behind the change of this number (`seq`); from the oldest on when left out */
                after?: number;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description only of this table */
                entity?: string;
                /** @description the log epoch of that number: it is refused when the log has another */
                epoch?: string;
                /** @description how many at most */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the rows of the change log, in order */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description the oldest number that is kept */
                        first_seq: number;
                        items: components["schemas"]["LoggedChange"][];
                        /** @description the newest number */
                        last_seq: number;
                        /** @description the numbering that the log has now */
                        log_epoch: string;
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getCompleteness: {
        parameters: {
            query?: {
                /** @description only this one */
                account?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description tell how complete the mirror is, by account, and what nobody can say */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AccountCompleteness"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                        /** @description what complete means */
                        scope: string;
                    };
                };
            };
        };
    };
    getCoverage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description say what is mirrored and how fresh, read by read, and what the service gives no way to find */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Coverage"];
                };
            };
        };
    };
    getDestinations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the destinations, their state, and what waits for them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Destination"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getDestinationsByNameMappings: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description only of this submission */
                submission_id?: string;
            };
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list which client of the AMS submissions belong to, by account and submission */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Mapping"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postDestinationsByNameMappings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description its account, needed where the destination has several */
                    account?: string;
                    /** @description its client in the AMS */
                    client?: string;
                    /** @description more for templates and adapters */
                    fields?: {
                        [key: string]: string;
                    };
                    /** @description a CSV of them */
                    file?: string;
                    /** @description its policy in the AMS */
                    policy?: string;
                    /** @description any number of submissions */
                    rows?: components["schemas"]["MappingRowInput"][];
                    /**
                     * Format: uuid
                     * @description a single submission
                     */
                    submission_id?: string;
                };
            };
        };
        responses: {
            /** @description say which client of the AMS submissions belong to; what waited for that goes out */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MappingsStored"];
                };
            };
        };
    };
    postDestinationsByNameMappingsCsv: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description how many were stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MappingsStored"];
                };
            };
        };
    };
    postDestinationsByNamePause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description why, for whoever looks at the list */
                    reason?: string;
                } | null;
            };
        };
        responses: {
            /** @description send nothing to a destination any more; its changes are queued all the same */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestinationChanged"];
                };
            };
        };
    };
    postDestinationsByNameResend: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description only say how many they are
                     * @default false
                     */
                    dry_run?: boolean;
                    /**
                     * @description only of this table
                     * @enum {string}
                     */
                    entity?: "submissions" | "market_events" | "thread_messages" | "thread_attachments" | "lanes" | "quotes" | "source_offers" | "quote_history" | "market_readiness" | "carrier_api_sessions" | "documents_on_file" | "program_assessments" | "requirement_items" | "outstanding_items" | "application_workspaces" | "applications" | "application_answers" | "facts" | "bind_requests" | "bind_assumptions" | "bind_contingencies" | "policies" | "insureds" | "documents";
                    /**
                     * @description under new message ids, for a receiver that leaves out those it has seen
                     * @default false
                     */
                    new_ids?: boolean;
                    /** @description only changes with these numbers, like `100-250` */
                    seq?: string;
                    /**
                     * @description only changes logged since: a date, a date-time, or how long ago (`2h`, `7d`)
                     * @example 24h
                     */
                    since?: string;
                    /**
                     * Format: uuid
                     * @description only of this submission
                     */
                    submission_id?: string;
                    /**
                     * @description only changes logged before
                     * @example 24h
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description send changes again that a destination lost, in their order, behind what waits */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resent"];
                };
            };
        };
    };
    postDestinationsByNameResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description let a paused, parked or disabled destination go on, end its rest, and try now what failed before */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestinationChanged"];
                };
            };
        };
    };
    postDestinationsByNameTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description make one harmless try, and tell what came of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestinationTried"];
                };
            };
        };
    };
    getDestinationsByNameUnmapped: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description as in the list of submissions: words of the name of the insured, the beginning of an id */
                search?: string;
            };
            header?: never;
            path: {
                /** @description of the destination */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the submissions whose changes wait for a client of the AMS, by account and id */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["UnmappedSubmission"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postDoctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description only this one */
                    destination?: string;
                } | null;
            };
        };
        responses: {
            /** @description look whether everything works: database, accounts, the way of the deliveries, destinations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Finding"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getDocuments: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description only in this state */
                state?: "stored" | "waiting" | "failed" | "gone";
                /** @description only of this submission */
                submission_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list documents, with where their files are or why they are missing */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Document"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getDocumentsByKey: {
        parameters: {
            query?: {
                account?: string;
            };
            header?: never;
            path: {
                /** @description its `document_key` */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description its bytes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
        };
    };
    postDocumentsCheck: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description have lost files fetched again
                     * @default false
                     */
                    repair?: boolean;
                } | null;
            };
        };
        responses: {
            /** @description look whether the file of every stored document is there; exit code 1 when one is not */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentCheck"];
                };
            };
        };
    };
    getFoundWithoutWebhook: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the newest events and messages that a reading of the feeds found, and of which no webhook has told */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["FoundWithoutWebhook"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getHistory: {
        parameters: {
            query?: {
                window?: "1h" | "24h" | "7d" | "30d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description tell what happened over the last hour, day, week or month, in steps */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
        };
    };
    getInbox: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description only of this type, like `submission.events` */
                kind?: string;
                /** @description how many at most */
                limit?: number;
                /**
                 * @description only received since: a date, a date-time, or how long ago (`2h`, `7d`)
                 * @example 24h
                 */
                since?: string;
                /** @description only in this state */
                state?: "ready" | "done" | "aside" | "dead";
                /** @description only of this submission */
                submission_id?: string;
                /** @description only those with this part in their svix-id, their error or their submission's id */
                text?: string;
                /**
                 * @description only received before
                 * @example 24h
                 */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list stored deliveries, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Delivery"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getInboxById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description its svix-id, or its number in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show a delivery with its headers and body */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DeliveryShown"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getInboxByIdChanges: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description its svix-id, or its number in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list what deliveries became: the changes that webhooks made to their submission between their arrival and their settling */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DeliveryBecame"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postInboxReplay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description only of this account */
                    account?: string;
                    /** @description only tell how many there are; nothing is changed */
                    dry_run?: boolean;
                    /** @description ids of deliveries (svix-id), or their numbers in the list */
                    ids?: string[];
                    /** @description only of this type, like `submission.events` */
                    kind?: string;
                    /**
                     * @description only received since: a date, a date-time, or how long ago (`2h`, `7d`)
                     * @example 24h
                     */
                    since?: string;
                    /**
                     * @description all deliveries in this state
                     * @enum {string}
                     */
                    state?: "ready" | "done" | "aside" | "dead";
                    /**
                     * Format: uuid
                     * @description only of this submission
                     */
                    submission_id?: string;
                    /** @description only those with this part in their svix-id, their error or their submission's id */
                    text?: string;
                    /**
                     * @description only received before
                     * @example 24h
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description work stored deliveries again, whatever became of them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
        };
    };
    postInboxSkip: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description only of this account */
                    account?: string;
                    /** @description only tell how many there are; nothing is changed */
                    dry_run?: boolean;
                    /** @description ids of deliveries (svix-id), or their numbers in the list */
                    ids?: string[];
                    /** @description only of this type, like `submission.events` */
                    kind?: string;
                    /**
                     * @description only received since: a date, a date-time, or how long ago (`2h`, `7d`)
                     * @example 24h
                     */
                    since?: string;
                    /**
                     * @description all deliveries in this state
                     * @enum {string}
                     */
                    state?: "dead";
                    /**
                     * Format: uuid
                     * @description only of this submission
                     */
                    submission_id?: string;
                    /** @description only those with this part in their svix-id, their error or their submission's id */
                    text?: string;
                    /**
                     * @description only received before
                     * @example 24h
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description give dead deliveries up: they are set aside, and nobody is told of them any more */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Skipped"];
                };
            };
        };
    };
    getInterfaceDrift: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list fields, values and types that the specification does not name, and required fields that are missing */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description accounts with so many that nothing new is recorded */
                        full: string[];
                        items: components["schemas"]["InterfaceDrift"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getLive: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a stream that does not end by itself */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    getOpenItems: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description only of this submission */
                submission_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list what the broker must still supply, submission by submission */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ListedOpenItem"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getOpenapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description an OpenAPI document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        openapi: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getOutbox: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description only to this destination */
                destination?: string;
                /** @description how many at most */
                limit?: number;
                /**
                 * @description only queued since: a date, a date-time, or how long ago (`2h`, `7d`)
                 * @example 24h
                 */
                since?: string;
                /** @description only in this state */
                state?: "ready" | "waiting" | "retrying" | "unmapped" | "held" | "delivered" | "dead" | "unknown" | "skipped";
                /** @description only of this submission */
                submission_id?: string;
                /**
                 * @description only queued before
                 * @example 24h
                 */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list changes on their way to destinations, or sent, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OutboxRow"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getOutboxById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description its message id (webhook-id), or its number in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show all that is known of a change on its way */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OutboxRow"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getOutboxByIdExchange: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description its message id (webhook-id), or its number in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show what a destination is sent of a change, and what it answered last */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Exchange"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postOutboxRetry: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description only of this account */
                    account?: string;
                    /** @description only to this destination */
                    destination?: string;
                    /** @description only tell how many there are; nothing is changed */
                    dry_run?: boolean;
                    /** @description numbers, or message ids (webhook-id), with the destination for a message that is on its way to several */
                    ids?: string[];
                    /**
                     * @description only queued since: a date, a date-time, or how long ago (`2h`, `7d`)
                     * @example 24h
                     */
                    since?: string;
                    /**
                     * @description only in this state; when left out: dead letters, unknown outcomes, and what waits for its next attempt
                     * @enum {string}
                     */
                    state?: "dead" | "unknown" | "skipped";
                    /**
                     * Format: uuid
                     * @description only of this submission
                     */
                    submission_id?: string;
                    /**
                     * @description only queued before
                     * @example 24h
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description try changes again now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutboxSettled"];
                };
            };
        };
    };
    postOutboxSkip: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description only of this account */
                    account?: string;
                    /** @description only to this destination */
                    destination?: string;
                    /** @description only tell how many there are; nothing is changed */
                    dry_run?: boolean;
                    /** @description numbers, or message ids (webhook-id), with the destination for a message that is on its way to several */
                    ids?: string[];
                    /**
                     * @description only queued since: a date, a date-time, or how long ago (`2h`, `7d`)
                     * @example 24h
                     */
                    since?: string;
                    /**
                     * @description only in this state; when left out: dead letters and unknown outcomes
                     * @enum {string}
                     */
                    state?: "dead" | "unknown" | "ready";
                    /**
                     * Format: uuid
                     * @description only of this submission
                     */
                    submission_id?: string;
                    /**
                     * @description only queued before
                     * @example 24h
                     */
                    until?: string;
                };
            };
        };
        responses: {
            /** @description give changes up for good, so that what waits behind them goes on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutboxSettled"];
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description say whether the mirror is complete and fresh, and what needs a person, with the request that mends it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
        };
    };
    getProcesses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the processes that work on the database now, the oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Process"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getQuotes: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description only of this submission */
                submission_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the quotes that are not gone, submission by submission, of each the lowest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ListedQuote"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getReconcileRuns: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /**
                 * @description only requested since: a date, a date-time, or how long ago (`2h`, `7d`)
                 * @example 24h
                 */
                since?: string;
                /** @description only in this state */
                state?: "requested" | "running" | "done" | "budget" | "failed" | "stopped";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list runs, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReconcileRun"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postReconcileRuns: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description every account of the settings when left out */
                    account?: string;
                    /** @description only submissions that are not dormant */
                    active_only?: boolean;
                    /** @description reads at once */
                    concurrency?: number;
                    /** @description write nothing but the report */
                    dry_run?: boolean;
                    /** @description the feeds only */
                    no_state?: boolean;
                    /**
                     * @description only submissions in which something moved since
                     * @example 24h
                     */
                    since?: string;
                    /** @description only these */
                    submissions?: string[];
                } | null;
            };
        };
        responses: {
            /** @description ask for a reconcile run: a process that works takes it up */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReconcileRun"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getReconcileRunsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show a run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReconcileRun"];
                };
            };
        };
    };
    getReconcileRunsByIdFindings: {
        parameters: {
            query?: {
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description only of this kind */
                kind?: "missing" | "different" | "absent" | "unreadable" | "undelivered" | "lost";
                /** @description how many at most */
                limit?: number;
                /** @description only what was known before; false: only what was not */
                standing?: boolean;
                /** @description only of this submission */
                submission_id?: string;
            };
            header?: never;
            path: {
                /** @description of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list what a run found, in the order in which it was found */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReconcileFinding"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getReconcileRunsByIdReportHtml: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the report */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    postReconcileRunsByIdStop: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description of the run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description end a run that waits or is in progress; what it found and repaired stays */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReconcileRun"];
                };
            };
        };
    };
    getRejected: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description only those refused for this reason */
                reason?: string;
                /**
                 * @description only received since: a date, a date-time, or how long ago (`2h`, `7d`)
                 * @example 24h
                 */
                since?: string;
                /**
                 * @description only received before
                 * @example 24h
                 */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list deliveries that were refused, with the reason, the newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["RefusedDelivery"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getRejectedById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description its number in the list */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show a refused delivery with its headers and body */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefusedDeliveryShown"];
                };
            };
        };
    };
    getRejectedReasons: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list why deliveries were refused: how many of those that are kept, by reason */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["RefusedReason"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postRejectedReplay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description only of this account */
                    account?: string;
                    /**
                     * @description only received since: a date, a date-time, or how long ago (`2h`, `7d`)
                     * @example 24h
                     */
                    since?: string;
                    /**
                     * @description only received before
                     * @example 24h
                     */
                    until?: string;
                } | null;
            };
        };
        responses: {
            /** @description verify refused deliveries again, after a secret was mended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefusedReplayed"];
                };
            };
        };
    };
    postReload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description read the settings again and go by them: secrets, destinations, timetables */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reloaded"];
                };
            };
        };
    };
    postRetentionRun: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description remove it, whatever the turn waits for */
                    confirm?: boolean;
                } | null;
            };
        };
        responses: {
            /** @description say what the next turn of retention removes and why it waits; with `confirm` let it take place */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retention"];
                };
            };
        };
    };
    getRowsByTableByKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description its `row_key`
                 * @example 1
                 */
                key: string;
                /**
                 * @description its table
                 * @example changes
                 */
                table: "submissions" | "market_events" | "thread_messages" | "thread_attachments" | "lanes" | "quotes" | "source_offers" | "quote_history" | "market_readiness" | "carrier_api_sessions" | "documents_on_file" | "program_assessments" | "requirement_items" | "outstanding_items" | "application_workspaces" | "applications" | "application_answers" | "facts" | "bind_requests" | "bind_assumptions" | "bind_contingencies" | "policies" | "insureds" | "documents" | "extra_reads" | "changes" | "reconcile_findings";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show one row whole: personal values as they are, and the object of the service */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownRow"];
                };
            };
        };
    };
    getSearch: {
        parameters: {
            query: {
                /**
                 * @description what to look for
                 * @example bakery
                 */
                q: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description find submissions, deliveries and pushes by id or name, at most 20 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Found"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description who asks */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    postSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            /** @description signed in */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description signed out, or not signed in */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getSessionMethods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the ways */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInMethods"];
                };
            };
        };
    };
    getSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list the settings that this process goes by, without secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Setting"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description say whether the mirror is complete and fresh, what needs a person, and how it is in numbers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
        };
    };
    getSubmissions: {
        parameters: {
            query?: {
                /** @description only of this account */
                account?: string;
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description how many at most */
                limit?: number;
                /** @description the beginning of a market's name: only submissions with a lane there */
                market?: string;
                /** @description what words of the insured's name begin with, the beginning of an id or of a market's name, or the status of a lane; upper or lower case */
                search?: string;
                /** @description with `-` the newest, or last, first */
                sort?: "-moved" | "moved" | "name" | "-name" | "effective_date" | "-effective_date";
                /** @description only submissions that stand there, as the answer says it */
                stands?: string;
                /** @description only submissions with a lane of that status */
                status?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list submissions with where each stands, the one that moved last first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SubmissionItem"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    getSubmissionsByAccountBySubmissionId: {
        parameters: {
            query?: {
                /** @description how many rows of each table at most; `cut` names the tables with more */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description the account that it belongs to; the default account when left out */
                account: string;
                /** @description the id of a submission */
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description show everything that is mirrored of a submission, how fresh it is, and its last proof */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmissionView"];
                };
            };
        };
    };
    getSubmissionsByAccountBySubmissionIdTimeline: {
        parameters: {
            query?: {
                /** @description the `next_cursor` of the page before */
                cursor?: string;
                /** @description only these, with commas between: push, change, message, event */
                kinds?: ("push" | "change" | "message" | "event")[];
                /** @description how many at most */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description the account that it belongs to; the default account when left out */
                account: string;
                /** @description the id of a submission */
                submission_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description list what happened in a submission, the newest first: events, messages, changes of its state, pushes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["TimelineItem"][];
                        /** @description give it as `cursor` for the next page; null: this is the last */
                        next_cursor: string | null;
                    };
                };
            };
        };
    };
    postSubmissionsPurge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description the account that they belong to; the default account when left out */
                    account?: string;
                    /** @description only say what would be removed */
                    dry_run?: boolean;
                    /** @description those that the service has not known since before this day (YYYY-MM-DD) or time */
                    gone_before?: string;
                    /** @description ids of submissions */
                    ids?: string[];
                };
            };
        };
        responses: {
            /** @description remove everything that is kept of submissions, and do not track them again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmissionsPurged"];
                };
            };
        };
    };
    postSubmissionsSync: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description the account that they belong to; the default account when left out */
                    account?: string;
                    ids: string[];
                    /**
                     * @description false: the feeds are read on from where they were read to, not from the beginning
                     * @default true
                     */
                    replay?: boolean;
                };
            };
        };
        responses: {
            /** @description have submissions read from the service now, feeds and state */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SyncRequested"];
                };
            };
        };
    };
    postSubmissionsTrack: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description the account that they belong to; the default account when left out */
                    account?: string;
                    /**
                     * @description submissions that were purged too
                     * @default false
                     */
                    again?: boolean;
                    ids: string[];
                };
            };
        };
        responses: {
            /** @description make submissions known: their feeds are read from the beginning and kept up to date */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmissionsTracked"];
                };
            };
        };
    };
}
