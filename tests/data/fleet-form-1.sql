-- The tables of a fleet's store of form 1, as version 0.1.0 has left them: two connectors, one that was revoked, an
-- invite, and a name that was released.
CREATE TABLE `postern_changes` (
  `number` bigint(20) unsigned NOT NULL,
  `id` varbinary(40) NOT NULL,
  `body` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`number`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `postern_connectors` (
  `name` varbinary(1024) NOT NULL,
  `body` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `postern_connectors` VALUES ('ann','{\"password\":{\"rounds\":1,\"salt\":\"BlWtkFUx5iojpXob2y8FUw\",\"hash\":\"HpHUSQ1183bFXlg3qQHadI9GvrDsqtFppbvb0dt9CFY\"},\"api_port\":30000,\"enrolled_at\":\"2026-11-29T17:05:24Z\",\"called_at\":\"2026-11-29T17:05:24Z\",\"caller\":{\"label\":\"\",\"version\":\"\",\"source\":\"127.0.0.1\"},\"invite\":{\"id\":\"197f5ac3\",\"label\":\"\"},\"applications\":[{\"key\":\"shop\",\"app_id\":\"981903220f2168fd\",\"display_name\":\"shop\",\"protocol\":\"http\",\"target\":\"127.0.0.1:9\",\"port\":30001,\"site\":{\"name\":\"shop\",\"wish\":\"shop\",\"since\":null,\"tls\":false,\"code\":null,\"checks_code\":false},\"called_at\":\"2026-11-29T17:05:24Z\",\"expires\":null,\"allow\":[],\"generation\":0,\"connected_at\":null}]}');
INSERT INTO `postern_connectors` VALUES ('bob','{\"password\":{\"rounds\":1,\"salt\":\"QTRaYag62OA9xCMWCzTSCA\",\"hash\":\"SyJWKczHwV-wSkeW1UDWq-1yIKltKxXUwhxKvfjxLZw\"},\"api_port\":30003,\"enrolled_at\":\"2026-11-29T17:05:25Z\",\"called_at\":\"2026-11-29T17:05:25Z\",\"caller\":{\"label\":\"\",\"version\":\"\",\"source\":\"127.0.0.1\"},\"invite\":{\"id\":\"197f5ac3\",\"label\":\"\"},\"applications\":[{\"key\":\"wiki\",\"app_id\":\"e06d9e90a1078c4b\",\"display_name\":\"wiki\",\"protocol\":\"http\",\"target\":\"127.0.0.1:9\",\"port\":30004,\"site\":{\"name\":\"wiki\",\"wish\":\"wiki\",\"since\":null,\"tls\":false,\"code\":null,\"checks_code\":false},\"called_at\":\"2026-11-29T17:05:25Z\",\"expires\":null,\"allow\":[],\"generation\":0,\"connected_at\":null}]}');
CREATE TABLE `postern_fleet` (
  `id` tinyint(3) unsigned NOT NULL,
  `form` int(10) unsigned NOT NULL,
  `number` bigint(20) unsigned NOT NULL,
  `secret` varbinary(32) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `postern_fleet` VALUES (1,1,8,REPEAT('s',32));
CREATE TABLE `postern_rest` (
  `id` tinyint(3) unsigned NOT NULL,
  `body` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `postern_rest` VALUES (1,'{\"version\":2,\"number\":0,\"invites\":[{\"id\":\"197f5ac3\",\"label\":\"\",\"token\":{\"rounds\":200000,\"salt\":\"A5g9hEuZyKY0M_Uuvx6wSg\",\"hash\":\"c1xpyRCLeFfXvLobLdgR_iUvYUVyVSOEef4XexOOIOc\"},\"made_at\":\"2026-11-29T17:05:24Z\",\"expires\":null,\"uses\":null,\"used\":3,\"used_by\":[{\"connector\":\"ann\",\"at\":\"2026-11-29T17:05:24Z\"},{\"connector\":\"bob\",\"at\":\"2026-11-29T17:05:25Z\"},{\"connector\":\"eve\",\"at\":\"2026-11-29T17:05:25Z\"}],\"forbidden_at\":\"2026-11-29T17:05:25Z\",\"is_common\":true,\"is_first\":false},{\"id\":\"ff45b9d5\",\"label\":\"for the team\",\"token\":{\"rounds\":1,\"salt\":\"_wVBnh0WVb6Lyg5J7Y-3cA\",\"hash\":\"yYwQMnWLkqC3yU7c7byx5OoAtj7KCMbhGpqkH8RwnKQ\"},\"made_at\":\"2026-11-29T17:05:25Z\",\"expires\":\"2026-12-06T17:05:25Z\",\"uses\":10,\"used\":0,\"used_by\":[],\"forbidden_at\":null,\"is_common\":false,\"is_first\":false}],\"connectors\":{},\"revoked\":[\"eve\"],\"revocations\":{\"eve\":{\"at\":\"2026-11-29T17:05:25Z\",\"invite\":\"197f5ac3\",\"connector\":{\"password\":{\"rounds\":1,\"salt\":\"2Ev3vCFRKNslAwuAlr3u-Q\",\"hash\":\"wj2RIA1Jz8FPaykEH3T0RHVnLI9unDX668_RdoWkEJw\"},\"api_port\":30005,\"enrolled_at\":\"2026-11-29T17:05:25Z\",\"called_at\":\"2026-11-29T17:05:25Z\",\"caller\":{\"label\":\"\",\"version\":\"\",\"source\":\"127.0.0.1\"},\"invite\":{\"id\":\"197f5ac3\",\"label\":\"\"},\"applications\":[{\"key\":\"blog\",\"app_id\":\"fa31a4debb28286b\",\"display_name\":\"blog\",\"protocol\":\"http\",\"target\":\"127.0.0.1:9\",\"port\":30006,\"site\":{\"name\":\"blog\",\"wish\":\"blog\",\"since\":null,\"tls\":false,\"code\":null,\"checks_code\":false},\"called_at\":\"2026-11-29T17:05:25Z\",\"expires\":null,\"allow\":[],\"generation\":0,\"connected_at\":null}]}}},\"forbidden_tokens\":[],\"reserved\":[{\"connector\":\"ann\",\"site\":\"till\",\"port\":null,\"since\":\"2026-11-29T17:05:25Z\",\"connected_at\":null}]}');
