-- Counters of memory kills, all attempts of each arm. Without a value nothing is known.
-- key: arm, source, counter
-- n: attempts
-- rows: readings where source IN ('cgroup', 'host')
SELECT arm, source, counter, count(added) AS attempts, sum(added)::BIGINT AS added, count(*) FILTER (WHERE added > 0) AS attempts_with,
    count(*) - count(added) AS without, string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason
FROM oom_counters GROUP BY arm, source, counter ORDER BY arm, source, counter;
